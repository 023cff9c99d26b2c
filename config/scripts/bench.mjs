import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepareOrExit } from './prepare.mjs'
import { findProgram, findRedis } from './programs.mjs'
import { digestOf, root } from './shared.mjs'

const source = join(root, 'test', 'bench', 'stacks')
const target = join(root, '.cache', 'stacks')
const stampFile = join(target, '.stamp')

process.env.REDIS_SERVER_BIN = await prepareOrExit({ forTests: true }, findRedis)
process.env.BENCH_NGINX = await findProgram('nginx')
process.env.BENCH_NGINX_LUA = await findProgram('nginx-lua')
process.env.BENCH_HAPROXY = await findProgram('haproxy')
process.env.BENCH_CADDY = await findProgram('caddy')
process.env.BENCH_STACKS = findStacks()
await import('../../test/bench/main.ts')

/**
 * Fetches what the benchmark compares with and nothing else needs; gives its folder, or nothing where it
 * can't be had: then the benchmark goes without.
 */
function findStacks() {
  const stamp = digestOf([join(source, 'package.json'), join(source, 'stack.mjs')])
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return target
  cpSync(source, target, { recursive: true })
  process.stderr.write('Fetching what to compare with\n')
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock']
  const env = { ...process.env, npm_config_loglevel: 'error' }
  const { status, stderr } = spawnSync('npm', args, { cwd: target, env, encoding: 'utf8' })
  if (status !== 0) {
    process.stderr.write(`Other stacks are left out, npm can't fetch them: ${stderr.trim()}\n`)
    return ''
  }
  writeFileSync(stampFile, stamp)
  return target
}
