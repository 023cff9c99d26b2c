import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Fastify from 'fastify'
import t from 'tap'
import { tollgate } from '../../../gateway/plugin.ts'
import { mine, serve } from '../../support/plugin.ts'
import { root } from '../../support/process.ts'
import { folderOf } from '../../support/folder.ts'

const guide = readFileSync(join(root, 'config/guides/embedding.md'), 'utf8')
const blocks = [...guide.matchAll(/```ts\n([^]*?)```/g)].map(([, code = '']) => code)

t.test('the guide’s app and its test run, and are short', (t) => {
  const folder = folderOf(t)
  const entry = pathToFileURL(join(root, 'gateway/index.ts')).href
  for (const name of ['app.ts', 'app.test.ts']) {
    const code = blocks.find((each) => each.startsWith(`// ${name}\n`)) ?? ''
    const lines = code.split('\n').filter((line) => line !== '' && !/^(?:\/\/|import)/.test(line))
    t.ok(lines.length > 0 && lines.length <= 10, `${name}: ${lines.length} lines`)
    writeFileSync(join(folder, name), code.replace("'tollgate'", `'${entry}'`))
  }
  const args = ['--test', '--test-reporter', 'tap', join(folder, 'app.test.ts')]
  t.match(execFileSync(process.execPath, args, { encoding: 'utf8' }), /^# pass 1$/m)
  t.end()
})

t.test('the guide names every operation that an app has', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const plans = { free: { perMinute: 60, perDay: 1000 } }
  const config = { plans, routes: [], store: { file: ':memory:' } }
  await app.register(tollgate, { config })
  for (const [name, member] of Object.entries(app.tollgate)) {
    const names =
      typeof member === 'function' ? [name] : Object.keys(member).map((each) => `${name}.${each}`)
    for (const each of names) {
      const isTold = guide.includes(`await ${each}(`) || guide.includes(`\`${each}\``)
      t.ok(isTold, each)
    }
  }
})

t.test('two in one app stand beside each other', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const config = {
    plans: { free: { perMinute: 60, perDay: 1000 } },
    routes: [],
    store: { file: join(folderOf(t), 'keys.db') },
    quota: 'off',
    usage: 'off',
  } as const
  const keys: string[] = []
  await app.register(
    async (scope) => {
      await scope.register(tollgate, { config })
      scope.get('/mine', mine, serve)
      const { key } = await scope.tollgate.keys.create({ name: 'Me', plan: 'free' })
      keys.push(key)
    },
    { prefix: '/a' },
  )
  await app.register(
    async (scope) => {
      const other = { ...config, store: { file: join(folderOf(t), 'other.db') } }
      await scope.register(tollgate, { config: other })
      scope.get('/mine', mine, serve)
    },
    { prefix: '/b' },
  )
  const headers = { authorization: `Bearer ${keys[0]}` }
  t.equal((await app.inject({ url: '/a/mine', headers })).statusCode, 200)
  t.equal((await app.inject({ url: '/b/mine', headers })).statusCode, 401, 'each has its own keys')
})
