import assert from 'node:assert'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import tollgate, { TollgateError, type TollgateOptions } from '../../../gateway/index.ts'
import { folderOf } from '../../support/folder.ts'
import { serve } from '../../support/plugin.ts'
import { root } from '../../support/process.ts'

const page = readFileSync(join(root, 'config/plugin.md'), 'utf8')

/** The examples of the page, by the headings that they open. */
const examples = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((part) => [part.slice(0, part.indexOf('\n')), /^.*\n\n```ts\n([^]*?)```/.exec(part)?.[1]]),
)

const config = {
  plans: { free: { perMinute: 60 }, pro: { perDay: 100 } },
  store: { file: ':memory:' },
}

type Example = Readonly<{ example: (around: Around) => Promise<void> }>

/** What the examples take for granted. */
type Around = Record<string, unknown>

const names = [
  'app',
  'config',
  'handler',
  'users',
  'reports',
  'Fastify',
  'tollgate',
  'TollgateError',
  'assert',
]

/** Does what an example says in an app, which has Tollgate already if options are given. */
async function run(
  t: Test,
  heading: string,
  options?: TollgateOptions,
  { around = {}, settings = {} }: { around?: Around; settings?: FastifyServerOptions } = {},
): Promise<FastifyInstance> {
  const app = Fastify(settings) as unknown as FastifyInstance
  t.teardown(() => app.close())
  if (options) await app.register(tollgate, options)
  const all: Around = {
    app,
    config,
    handler: serve,
    Fastify,
    tollgate,
    TollgateError,
    assert,
    ...around,
  }
  // The page shows the examples as they would stand in a file of the app.
  const code = `export const example = async ({ ${names.join(', ')} }) => {{${examples.get(heading)}}}`
  const name = `${heading.replace(/\W+/g, '-')}.ts`
  const file = join(folderOf(t, { [name]: code }), name)
  const { example } = (await import(pathToFileURL(file).href)) as Example
  await example(all)
  return app
}

async function keyOf(app: FastifyInstance, plan = 'free'): Promise<{ authorization: string }> {
  const { key } = await app.tollgate.keys.create({ name: `Me ${plan}`, plan })
  return { authorization: `Bearer ${key}` }
}

t.test('each part of the page opens with an example', (t) => {
  t.ok(examples.size > 9)
  for (const [heading, code] of examples) t.ok(code, heading)
  t.end()
})

t.test('a whole scope', async (t) => {
  const app = await run(t, 'A whole scope')
  for (const [url, status] of [
    ['/mine', 401],
    ['/dear', 401],
    ['/health', 200],
    ['/nowhere', 404],
  ] as const) {
    t.equal((await app.inject(url)).statusCode, status, url)
  }
})

t.test('which hook sees the caller', async (t) => {
  const app = await run(t, 'Which hook sees the caller', { config })
  const seen: string[] = []
  for (const name of ['onRequest', 'preParsing', 'preHandler', 'onSend', 'onResponse'] as const) {
    const note = (...[request, , ...rest]: unknown[]): void => {
      const { tollgate } = request as { tollgate: { caller?: object } | null }
      seen.push(`${name} ${tollgate ? Boolean(tollgate.caller) : 'null'}`)
      const done = rest.at(-1) as () => void
      done()
    }
    app.addHook(name as 'onRequest', note as never)
  }
  app.get(
    '/own',
    {
      config: { tollgate: true },
      onRequest: (request, _reply, done) => {
        seen.push(`own onRequest ${Boolean(request.tollgate?.caller)}`)
        done()
      },
    },
    serve,
  )
  const headers = await keyOf(app)
  t.equal((await app.inject({ url: '/own', headers })).statusCode, 200)
  const later = ['preParsing', 'preHandler', 'onSend', 'onResponse'].map((name) => `${name} true`)
  t.strictSame(seen.splice(0), ['onRequest null', 'own onRequest true', ...later])
  await app.tollgate.bans.set('Me free', { for: '1h' })
  t.equal((await app.inject({ url: '/own', headers })).statusCode, 429)
  t.strictSame(seen.splice(0), ['onRequest null', 'onSend true', 'onResponse true'])
  await app.tollgate.bans.lift('Me free')
  t.equal((await app.inject({ url: '/reports', headers })).statusCode, 402)
  t.equal((await app.inject({ url: '/reports', headers: await keyOf(app, 'pro') })).statusCode, 200)
})

t.test('errors in one’s own routes', async (t) => {
  const app = await run(t, 'Errors in your own routes', { config })
  const make = (body: object) => app.inject({ method: 'POST', url: '/keys', body })
  t.match((await make({ name: 'Me', plan: 'free' })).json(), { plan: 'free' })
  const gold = await make({ name: 'Me', plan: 'gold' })
  t.match(gold, { statusCode: 400 })
  t.match(gold.json(), { type: 'invalid_request', title: /no plan "gold"/ })
  app.tollgate.keys.create = () => Promise.reject(new Error('of the app'))
  t.equal((await make({})).statusCode, 500)
})

t.test('what a handler’s answer costs', async (t) => {
  const answers: unknown[] = [undefined, new Error('no report'), { report: 1 }]
  const next = async (): Promise<unknown> => {
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return answer
  }
  const options = { config: { ...config, plans: { free: { perDay: 100 } } } }
  const app = await run(t, "What a handler's answer costs", options, {
    around: { reports: { next } },
  })
  const headers = await keyOf(app)
  for (const [status, remaining] of [
    [503, 100],
    [500, 100],
    [200, 95],
  ]) {
    t.equal((await app.inject({ url: '/reports', headers })).statusCode, status)
    const { day } = (await app.inject({ url: '/v1/quota', headers })).json()
    t.equal(day.remaining, remaining, `${status}`)
  }
})

t.test('logs', async (t) => {
  const lines: string[] = []
  const logger = { stream: { write: (line: string) => void lines.push(line) } }
  const app = await run(t, 'Logs', { config }, { settings: { logger } })
  t.equal((await app.inject({ url: '/mine', headers: await keyOf(app) })).statusCode, 200)
  const [, asked, completed] = lines.map((line) => JSON.parse(line) as object)
  t.match(asked, { key: /^\w{12}$/, plan: 'free', msg: 'asked' })
  t.match(completed, { key: /^\w{12}$/, plan: 'free', msg: 'request completed' })
})

t.test('time in tests, and addresses behind a load balancer', async (t) => {
  await t.resolves(run(t, 'Time in tests'))
  await t.resolves(run(t, 'Addresses of callers'))
})

t.test('keys and callers of one’s own', async (t) => {
  const byQuery = await run(t, 'Where keys come from')
  const { key } = await byQuery.tollgate.keys.create({ name: 'Me', plan: 'free' })
  t.equal((await byQuery.inject(`/v1/quota?key=${key}`)).statusCode, 200)
  const ada = { id: 'ada', plan: 'pro', company: 'acme', name: 'Ada', email: 'ada@example.com' }
  const users = { byToken: async (token: string) => (token === 'of-ada' ? ada : null) }
  const app = await run(t, 'Your own callers', undefined, { around: { users } })
  await run(t, 'Your own user in a handler', undefined, { around: { app } })
  const headers = { authorization: 'Bearer of-ada' }
  const answer = await app.inject({ url: '/mine', headers })
  t.strictSame(answer.json(), { id: 'ada', email: 'ada@example.com' })
})
