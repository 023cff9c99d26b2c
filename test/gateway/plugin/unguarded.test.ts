import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import Fastify from 'fastify'
import t from 'tap'
import { tollgate } from '../../../gateway/plugin.ts'
import { mine, serve } from '../../support/plugin.ts'
import { root } from '../../support/process.ts'

/** What a process writes on standard error whose app, which has no logger, does this before it is ready. */
function stderrOf(declare: string): string {
  const code = `
    const { tollgate } = await import(${JSON.stringify(join(root, 'gateway/plugin.ts'))})
    const { default: Fastify } = await import('fastify')
    const app = Fastify()
    const mine = { config: { tollgate: true } }
    const config = { plans: {}, routes: [], store: { file: ':memory:' } }
    config.plans.free = { perMinute: 60, perDay: 1000 }
    const serve = () => 'OPEN'
    ${declare}
    await app.ready()
    await app.close()
  `
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: root,
    encoding: 'utf8',
  })
  return stderr
}

t.test('a guarded route without the plugin is a line on standard error', (t) => {
  const line =
    '(config.tollgate), and the answer there is 500: register it in the same scope or around it\n'
  t.equal(stderrOf(`app.get('/mine', mine, serve)`), `Tollgate doesn’t reach GET /mine ${line}`)
  const elsewhere = stderrOf(`
    app.register(async (scope) => void (await scope.register(tollgate, { config })))
    app.post('/a', mine, serve)
    app.get('/open', serve)
    for (const i of [1, 2, 3, 4, 5]) app.get('/b' + i, mine, serve)
  `)
  const named = 'POST /a, GET /b1, GET /b2, GET /b3, GET /b4 and 1 more'
  t.equal(elsewhere, `Tollgate doesn’t reach ${named} ${line}`)
  t.end()
})

t.test('where Tollgate reaches all of them, nothing is written', (t) => {
  const written = stderrOf(`
    app.get('/before', mine, serve)
    await app.register(tollgate, { config })
    app.get('/after', mine, serve)
    app.get('/open', serve)
    app.register(async (scope) => void scope.get('/within', mine, serve))
  `)
  t.equal(written, '')
  t.end()
})

const config = {
  plans: { free: { perMinute: 60, perDay: 1000 } },
  store: { file: ':memory:' },
  routes: [],
  quota: 'off',
  usage: 'off',
} as const

/** The ids of answers from apps with these settings. */
async function idsOf(settings: object, headers = {}): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < 2; i++) {
    const app = (Fastify as (settings: object) => ReturnType<typeof Fastify>)(settings)
    await app.register(tollgate, { config })
    app.get('/mine', mine, serve)
    for (let j = 0; j < 2; j++) {
      const answer = await app.inject({ url: '/mine', headers })
      ids.push(String(answer.headers['x-request-id']))
    }
    await app.close()
  }
  return ids
}

t.test('ids of requests are unique, also where the app counts anew', async (t) => {
  const ids = await idsOf({})
  t.equal(new Set(ids).size, 4)
  for (const id of ids) t.match(id, /^[0-9a-f]{16}-[0-9a-z]+$/)
  const header = { requestIdHeader: 'x-request-id' }
  t.equal(new Set(await idsOf(header)).size, 4)
  t.strictSame(new Set(await idsOf(header, { 'x-request-id': 'mine' })), new Set(['mine']))
  t.strictSame(new Set(await idsOf(header, { 'x-request-id': 'req-1' })), new Set(['req-1']))
})

t.test('an app’s own ids stay', async (t) => {
  let count = 0
  const genReqId = () => `own-${++count}`
  t.strictSame(await idsOf({ genReqId }), ['own-1', 'own-2', 'own-3', 'own-4'])
  t.equal((await idsOf({ genReqId, requestIdHeader: 'x-id' }))[0], 'own-5')
})
