import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './process.ts'

/** The last commit whose gateways knew format 1 of a store alone. */
const commit = 'bb99297'

/**
 * A program of the former version, from this checkout's history, as `startProcess` takes it; `undefined` where the history
 * is cut off before it. It runs with this checkout's packages, of which nothing else uses TypeBox.
 */
export function formerProgram(file: string): string | undefined {
  const folder = join(root, '.cache', `former-${commit}`)
  if (!existsSync(folder)) {
    const git = (...args: string[]) =>
      spawnSync('git', ['-C', root, ...args], { maxBuffer: 1e9, encoding: 'buffer' })
    const archive = git('archive', commit, 'gateway', 'shared', 'package.json')
    if (archive.status !== 0) return undefined
    // Another test may be making it, too.
    const made = `${folder}-${process.pid}`
    mkdirSync(made, { recursive: true })
    const unpacked = spawnSync('tar', ['-x', '-C', made], { input: archive.stdout })
    if (unpacked.status !== 0) throw new Error(`tar failed: ${unpacked.stderr.toString()}`)
    try {
      renameSync(made, folder)
    } catch {
      rmSync(made, { recursive: true })
    }
  }
  return relative(root, join(folder, file))
}
