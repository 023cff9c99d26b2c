import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import tollgate from '../../gateway/index.ts'
import { seeded } from '../support/seeded.ts'
import { startGateway, startUpstream, type Gateway } from '../support/gateway.ts'
import { json, type Answer, type Call } from '../support/http.ts'

/** The paths that every spelling is of, and what a request to each costs in points. */
const paths = {
  '/v1/exports/ann@x': 1,
  '/v1/exports/5\u2028': 1,
  '/v1/a,b': 7,
  '/v1/größe/kiwi+1': 3,
} as const
const settings = `plans:
  free:
    perMinute: unlimited
    perDay: unlimited
    operations:
      exports: { methods: [POST], paths: ['/v1/exports/*', '/v1/a,b', '/v1/größe/kiwi+1'], perDay: 1000000 }
deprecations:
  - { operation: 'POST /v1/exports/{who}', since: 2025-12-05 }
  - { operation: 'POST /v1/a,b', since: 2025-12-05 }
  - { operation: 'POST /v1/größe/{what}', since: 2025-12-05 }`
const routes = `[ { path: '/v1/a,b', upstream: animals, cost: 7 },
  { path: '/v1/größe/kiwi+1', upstream: animals, cost: 3 }, { path: /v1/*, upstream: animals } ]`

type Lenient = Readonly<{
  caseSensitive?: boolean
  ignoreTrailingSlash?: boolean
  useSemicolonDelimiter?: boolean
}>

/** A spelling of a path that a router of this kind takes for the same. */
function spelled(path: string, lenient: Lenient, random: (below: number) => number): string {
  const characters = [...path].map((each) => {
    const written = lenient.caseSensitive === false ? inAnyCase(each, random) : each
    const mayStay = /^[\w/@,+]$/.test(written)
    if (each === '/' || (mayStay && random(10) < 6)) return written
    const escaped = [...Buffer.from(written)].map((byte) => `%${byte.toString(16)}`).join('')
    return random(2) === 0 ? escaped.toUpperCase() : escaped
  })
  const slash = lenient.ignoreTrailingSlash && random(2) === 0 ? '/' : ''
  const rest = lenient.useSemicolonDelimiter && random(2) === 0 ? ';a=%2C;b' : ''
  return characters.join('') + slash + rest
}

/** U+212A, the sign for Kelvin, has a small k as well. */
function inAnyCase(character: string, random: (below: number) => number): string {
  const forms = [
    character,
    character.toUpperCase(),
    ...(character === 'k' ? ['\u212a'] : []),
  ].filter((form) => form.toLowerCase() === character)
  return forms[random(forms.length)] ?? character
}

async function start(t: Test): Promise<Gateway> {
  return startGateway(t, { more: settings, routes })
}

/** Holds that each spelling which reaches the backend is counted, costed, restricted and deprecated as the plain one. */
async function holdAlike(
  t: Test,
  { key, upstream }: Gateway,
  call: Call,
  lenient: Lenient,
  prefix = '',
): Promise<void> {
  const { headers } = await key()
  const allowed = await key({ paths: ['/v1/exports/*', '/v1/a,b', '/v1/größe/*'] })
  const elsewhere = await key({ paths: ['/v1/pets/*'] })
  const used = async (): Promise<number> => {
    const quota = json(await call('GET', `${prefix}/v1/quota`, undefined, headers))
    const { exports } = quota['operations'] as { exports: { day: { remaining: number } } }
    return 1_000_000 - exports.day.remaining
  }
  let points = 0
  let reached = 0
  for (let seed = 1; seed <= 60; seed++) {
    const random = seeded(seed)
    for (const [path, cost] of Object.entries(paths)) {
      const url = prefix + spelled(path, lenient, random)
      const before = upstream.seen.length
      const answer = await call('POST', url, undefined, headers)
      if (upstream.seen.length === before) continue
      reached++
      points += cost
      t.equal(await used(), points, `${url} costs ${cost} of its operation`)
      t.equal(answer.headers['deprecation'], '@1764892800', `${url} is deprecated`)
      for (const [who, status] of [
        [allowed, 200],
        [elsewhere, 403],
      ] as const) {
        t.equal(
          (await call('POST', url, undefined, who.headers)).status,
          status,
          `${url} ${status}`,
        )
      }
    }
  }
  t.ok(reached > 100, `${reached} of 240 spellings reached the backend`)
}

t.test('in the process, all spellings of a path are counted and restricted alike', async (t) => {
  const gateway = await start(t)
  await holdAlike(t, gateway, gateway.call, {})
})

/** The options of a router, the prefix of the scope, and how requests begin. */
const lenients: Record<string, [Lenient, string?, string?]> = {
  strict: [{}],
  'that ignores case': [{ caseSensitive: false }],
  'that ignores a slash at the end': [{ ignoreTrailingSlash: true }],
  'that ends paths at a semicolon': [{ useSemicolonDelimiter: true }],
  'below a prefix with a parameter': [{}, '/:tenant', '/acme'],
  'below a prefix that ends with a slash': [{}, '/api/', '/api'],
  'that ignores all of it, below a prefix': [
    { caseSensitive: false, ignoreTrailingSlash: true, useSemicolonDelimiter: true },
    '/api',
  ],
}
for (const [name, [routerOptions, prefix = '', begins = prefix]] of Object.entries(lenients)) {
  t.test(`in an app with a router ${name}, too`, async (t) => {
    const gateway = await start(t)
    const app = Fastify({ routerOptions })
    t.teardown(() => app.close())
    const { config, stores } = gateway
    const guarded = async (scope: FastifyInstance): Promise<void> =>
      void (await scope.register(tollgate, { loaded: config, stores }))
    await app.register(guarded, { prefix })
    const call: Call = async (method, url, _body, headers = {}) => {
      const answer = await app.inject({ method: method as 'GET', url, headers })
      return {
        status: answer.statusCode,
        headers: answer.headers as Answer['headers'],
        text: answer.body,
      }
    }
    await holdAlike(t, gateway, call, routerOptions, begins)
  })
}

t.test(
  'what may be an operation’s path is counted in it, and allowed to no restricted key',
  async (t) => {
    const upstream = await startUpstream(t)
    const { call, key } = await startGateway(t, {
      upstream,
      more: `plans:
  free:
    perMinute: 60
    perDay: 1000
    operations:
      whole: { paths: [/v1/exports], perDay: 900 }
      parts: { paths: [/v1/*], perDay: 900 }`,
    })
    const { headers } = await key()
    const restricted = await key({ paths: ['/v1/*'] })
    t.equal((await call('GET', '/v1/exports%23x', undefined, headers)).status, 200)
    t.equal(
      (await call('GET', '/v1/exports/%FF', undefined, headers)).status,
      400,
      'no text at all',
    )
    t.match(json(await call('GET', '/v1/quota', undefined, headers)), {
      day: { remaining: 999 },
      operations: { whole: { day: { remaining: 899 } }, parts: { day: { remaining: 899 } } },
    })
    t.equal((await call('GET', '/v1/exports%23x', undefined, restricted.headers)).status, 403)
    t.equal((await call('GET', '/v1/a%40b', undefined, restricted.headers)).status, 200)
  },
)

t.test('a route that a backend may read in a path is paid for', async (t) => {
  const { call, key, upstream } = await startGateway(t, {
    routes:
      '[ { path: /v1/dear, upstream: animals, cost: 7 }, { path: /v1/*, upstream: animals } ]',
  })
  const { headers } = await key()
  for (const [path, remaining] of [
    ['/v1/dear%23x', 53],
    ['/v1/dear%3Fx', 46],
    ['/v1/cheap%3Fx', 45],
  ] as const) {
    const answer = await call('GET', path, undefined, headers)
    t.equal(answer.headers['x-ratelimit-remaining'], String(remaining), path)
    t.equal(upstream.seen.at(-1)?.url, path)
  }
})
