import { join } from 'node:path'
import t, { type Test } from 'tap'
import { RecentRefusals } from '../../gateway/explain/recent-refusals.ts'
import type { Explained } from '../../gateway/explain/explained.ts'
import { RequestRecord } from '../../gateway/request-record.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { embeddedTimeline } from '../../gateway/stores/embedded/timeline.ts'
import { connect } from '../../gateway/stores/redis/connect.ts'
import { redisTimeline } from '../../gateway/stores/redis/timeline.ts'
import type { RedisSettings } from '../../gateway/config/config.ts'
import type { Caller } from '../../gateway/keys/caller.ts'
import { Timeline } from '../../gateway/explain/timeline.ts'
import type { RefusalBatch } from '../../gateway/explain/timeline-store.ts'
import { Refusal, statusByCode } from '../../shared/refusal.ts'
import { startAdmin } from '../support/admin.ts'
import { runCommand } from '../support/command.ts'
import { timelineStoreContract } from '../contracts/timeline.ts'
import { collectGarbage } from '../support/garbage.ts'
import { startUpstream, type Gateway } from '../support/gateway.ts'
import { answerFrom, json, raw, type Answer } from '../support/http.ts'
import { token } from '../support/operator.ts'
import { startRedis, startCluster, watchCommands } from '../support/redis.ts'
import { until } from '../support/until.ts'

async function redisTimelines(t: Test, settings: RedisSettings) {
  const connections = [1, 2].map(() => connect(settings, { timeoutMs: 2_000 }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  await until(() => connections.every(({ status }) => status === 'ready'))
  const [first, second] = connections.map((connection) =>
    redisTimeline({ connection, prefix: 'test:', timeoutMs: 2_000 }),
  )
  if (!first || !second) throw new Error('two were asked for')
  return { first, second }
}

void timelineStoreContract(t, 'embedded, in a SQLite file', async (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const [one, two] = [openGatewayFile(file), openGatewayFile(file)]
  for (const database of [one, two]) database.pragma('synchronous = OFF')
  t.teardown(() => [one, two].forEach((database) => database.close()))
  return Promise.resolve({ first: embeddedTimeline(one), second: embeddedTimeline(two) })
})
void timelineStoreContract(t, 'redis, a single server', async (t) =>
  redisTimelines(t, { url: (await startRedis(t)).url }),
)
void timelineStoreContract(t, 'redis, a Cluster', async (t) =>
  redisTimelines(t, { cluster: (await startCluster(t)).nodes }),
)

type Found = Readonly<{
  answers: readonly Explained[]
  gateways: { asked: number; answered: number }
}>

/** The explanation of one answer, when it is there. */
async function explanationOf(ask: Gateway['call'], answer: Answer): Promise<Explained> {
  const id = String(answer.headers['x-request-id'])
  let found: Answer | undefined
  await until(async () => {
    found = await ask('GET', `/admin/requests/${id}`)
    return found.status === 200
  })
  const { answers } = json(found ?? '') as unknown as Found
  const [only] = answers
  if (answers.length !== 1 || !only) throw new Error(`${answers.length} answers have the id ${id}`)
  return only
}

/** The limit, the use and the end of a window, as the headers of an answer say them. */
function windowIn({ headers }: Answer) {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    Number(headers[`x-ratelimit-${name}`]),
  )
  return { limit, remaining, reset }
}

const someRoute = {
  ...{ label: '/v1/*', cost: 1, share: undefined, answer: undefined },
  ended: () => undefined,
}

t.test('for every code, explain says what the answer said, and why', async (t) => {
  let now = Date.UTC(2026, 5, 15, 12, 0, 30)
  const upstream = await startUpstream(t, ({ url = '', method }, response) => {
    if (url.startsWith('/v1/late') || method === 'PUT') return
    if (url === '/v1/reset') response.destroy()
    else if (url === '/v1/broken') response.writeHead(500).end('{}')
    else if (url === '/v1/unsigned') {
      response.writeHead(401, { 'x-tollgate-signature': 'refused' }).end('{}')
    } else response.end('{}')
  })
  const { gateway, ask } = await startAdmin(t, {
    upstream,
    clock: () => now,
    more: `
plans:
  free: { perMinute: 60, perDay: 1000 }
  gone: { perMinute: 100, perDay: 100 }
  readers: { perMinute: 60, perDay: 1000, methods: [ GET ] }
strangers: { perMinute: 100, perDay: 10000 }
bans: { strikes: 1, grace: 0s }
deprecations:
  - { operation: GET /v1/gone, since: 2026-01-01, sunset: 2026-02-01, afterSunset: gone }
  - operation: GET /v1/brown
    since: 2026-01-01
    sunset: 2027-01-01
    brownouts: [ { from: 2026-06-15T11:00:00Z, to: 2026-06-15T13:00:00Z } ]
`,
    upstreamMore: 'maxInFlight: 3, timeout: { response: 300ms, request: 300ms }',
    routes: `
  - { path: /v1/dear, upstream: animals, cost: 61 }
  - { path: /v1/small, upstream: animals, bodyLimit: 1B, methods: [ POST ] }
  - { path: /v1/*, upstream: animals }
`,
  })
  const { key, desk, app, config, stores, url } = gateway
  const free = await key({ name: 'Free' })
  const minute = await key({ name: 'Minute', limits: { perMinute: 1 }, account: 'acme' })
  const day = await key({ name: 'Day', limits: { perDay: 1 } })
  const trial = await key({ name: 'Trial', account: 'acme', test: true, limits: { perDay: 1 } })
  const get = await key({ name: 'Get', methods: ['GET'], paths: ['/v1/pets'] })
  const reader = await key({ name: 'Reader', plan: 'readers' })
  const elsewhere = await key({ name: 'Elsewhere', addresses: ['10.0.0.0/8'] })
  const planless = await key({ name: 'Planless', plan: 'gone' })
  const [revoked, disabled] = [await key({ name: 'R' }), await key({ name: 'D' })]
  const rotated = await key({ name: 'O' })
  const expired = await key({ name: 'E', expiresAtMs: now + 1 })
  await desk.edit(revoked.key.id, desk.revoking())
  await desk.edit(disabled.key.id, desk.disabling(true))
  await desk.rotate(rotated.key.id, 0)
  now++
  const faulty = await key({ name: 'Faulty' })
  const stored = await stores.keys.get(faulty.key.id)
  // No operation can make such a key.
  await stores.keys.replace({ ...faulty.key, addresses: ['nowhere'] }, stored?.version ?? 0)
  const plans = new Map([...config.plans].filter(([name]) => name !== 'gone'))
  await app.change({ ...config, plans })

  type Asker = Readonly<{ headers: { authorization: string } }>
  const call = async (method: string, path: string, who?: Asker, body?: string) =>
    gateway.call(method, path, body, who?.headers)
  const asked = (authorization: string) =>
    gateway.call('GET', '/v1/x', undefined, { authorization })
  const mistyped = free.token.slice(0, -1) + (free.token.endsWith('a') ? 'b' : 'a')
  /** Requests that wait for the backend while another one comes. */
  const besides = async (waiting: number, who: Asker, other: Asker) => {
    const before = upstream.seen.length
    const late = Array.from({ length: waiting }, () => call('GET', '/v1/late', who))
    await until(() => upstream.seen.length === before + waiting)
    const answer = await call('GET', '/v1/pets', other)
    await Promise.all(late)
    return answer
  }
  const lines = (...all: string[]): Promise<Answer> =>
    raw(url, `${all.join('\r\n')}\r\n\r\n`).then(answerFrom)
  const host = 'Host: x'

  type Case = readonly [code: string | null, reason: string, () => Promise<Answer>, who?: string]
  const cases: readonly Case[] = [
    ['missing_api_key', 'no_header', () => call('GET', '/v1/pets')],
    ['invalid_api_key', 'malformed_token', () => asked('Basic eDp5')],
    ['invalid_api_key', 'malformed_token', () => asked('Bearer tg_cut')],
    ['invalid_api_key', 'bad_check', () => asked(`Bearer ${mistyped}`)],
    ['invalid_api_key', 'unknown_token', () => asked('Bearer of-another-system')],
    ['invalid_api_key', 'expired', () => call('GET', '/v1/pets', expired), 'E'],
    ['invalid_api_key', 'disabled', () => call('GET', '/v1/pets', disabled), 'D'],
    ['invalid_api_key', 'revoked', () => call('GET', '/v1/pets', revoked), 'R'],
    ['invalid_api_key', 'rotated_out', () => call('GET', '/v1/pets', rotated), 'O'],
    ['forbidden', 'plan_gone', () => call('GET', '/v1/pets', planless), 'Planless'],
    ['forbidden', 'plan', () => call('POST', '/v1/pets', reader), 'Reader'],
    ['forbidden', 'method', () => call('POST', '/v1/pets', get), 'Get'],
    ['forbidden', 'path', () => call('GET', '/v1/others', get), 'Get'],
    ['forbidden', 'address', () => call('GET', '/v1/pets', elsewhere), 'Elsewhere'],
    ['forbidden', 'cost', () => call('GET', '/v1/dear', free), 'Free'],
    ['gone', 'sunset', () => call('GET', '/v1/gone', free), 'Free'],
    ['service_unavailable', 'brownout', () => call('GET', '/v1/brown', free), 'Free'],
    [
      'rate_limit_exceeded',
      'minute',
      async () => (await call('GET', '/v1/pets', minute), call('GET', '/v1/pets', minute)),
      'Minute',
    ],
    ['key_banned', 'ban', async () => (now++, call('GET', '/v1/pets', minute)), 'Minute'],
    [
      'rate_limit_exceeded',
      'day',
      async () => (await call('GET', '/v1/pets', day), call('GET', '/v1/pets', day)),
      'Day',
    ],
    [
      'rate_limit_exceeded',
      'day',
      async () => (await call('GET', '/v1/pets', trial), call('GET', '/v1/pets', trial)),
      'Trial',
    ],
    ['invalid_request', 'invalid_request', () => call('GET', '/v1//pets', free)],
    ['invalid_request', 'invalid_request', () => lines('GET /v1/x HTTP/1.1', host, 'bad header')],
    ['not_found', 'not_found', () => call('GET', '/elsewhere', free), 'Free'],
    ['method_not_allowed', 'method_not_allowed', () => call('PATCH', '/v1/small', free), 'Free'],
    [
      'payload_too_large',
      'payload_too_large',
      () => call('POST', '/v1/small', free, 'long'),
      'Free',
    ],
    ['uri_too_long', 'uri_too_long', () => call('GET', `/v1/${'x'.repeat(9_000)}`, free)],
    [
      'headers_too_large',
      'headers_too_large',
      () => lines('GET /v1/x HTTP/1.1', host, ...Array.from({ length: 120 }, (_, i) => `A${i}: b`)),
    ],
    [
      'not_implemented',
      'not_implemented',
      () => lines('POST /v1/x HTTP/1.1', host, 'Transfer-Encoding: gzip, chunked'),
    ],
    ['http_version_not_supported', 'http_version_not_supported', () => lines('GET /v1/x HTTP/3.7')],
    [
      'request_timeout',
      'request_timeout',
      () =>
        lines(
          'POST /v1/x HTTP/1.1',
          host,
          `Authorization: ${free.headers.authorization}`,
          'Content-Length: 9',
        ),
      'Free',
    ],
    ['internal_error', 'internal_error', () => call('GET', '/v1/pets', faulty)],
    ['bad_gateway', 'reset', () => call('GET', '/v1/reset', free), 'Free'],
    ['gateway_timeout', 'late', () => call('GET', '/v1/late', free), 'Free'],
    [null, 'backend', () => call('GET', '/v1/broken', free), 'Free'],
    ['too_many_at_once', 'share', () => besides(2, free, free), 'Free'],
    [
      'service_unavailable',
      'overloaded',
      async () => {
        const others = [await key(), await key()]
        const before = upstream.seen.length
        const late = [free, ...others].map((each) => call('GET', '/v1/late', each))
        await until(() => upstream.seen.length === before + 3)
        const answer = await call('GET', '/v1/pets', await key({ name: 'Fourth' }))
        await Promise.all(late)
        return answer
      },
      'Fourth',
    ],
    [
      'too_many_failed_attempts',
      'strangers',
      async () => {
        let answer = await asked('Bearer guessed')
        while (answer.status === 401) answer = await asked('Bearer guessed')
        return answer
      },
    ],
  ]
  for (const [code, reason, provoke, who] of cases) {
    const answer = await provoke()
    const found = await explanationOf(ask, answer)
    const name = `${code} ${reason}`
    t.match(found, { code, reason, status: answer.status, name: who ?? null }, name)
    if (code !== null) t.equal(json(answer)['code'], code, name)
    t.match(found.sentence, /^[A-Z0-9].*\.$/, found.sentence)
    if (who === 'Trial') {
      t.match(found, { account: 'acme', test: true })
      t.match(found.sentence, '1 of 1 on this day were used (plan free, test key, account acme).')
    }
    if (reason === 'share')
      t.match(found.sentence, 'had 2 requests under way, and its share was 2.')
    t.equal(found.config, config.hash)
    const { limit, remaining, reset } = windowIn(answer)
    const window = reason === 'day' ? found.day : found.minute
    if (reason === 'ban') {
      t.equal(Math.ceil(Date.parse(found.bannedUntil ?? '') / 1_000), reset, 'the end of the ban')
    } else if (Number.isNaN(limit)) {
      t.equal(window, null, `${name}: no decision, no headers`)
    } else {
      t.match(window, { limit, reset }, `${name}: the headers’ window`)
      t.equal(Math.max(0, (window?.limit ?? 0) - (window?.used ?? 0)), remaining, name)
    }
  }
  const seldom = [
    'misdirected_request',
    'conflict',
    'unsupported_media_type',
    'precondition_failed',
    'precondition_required',
  ]
  const provoked = new Set([...cases.map(([code]) => code), ...seldom])
  t.strictSame(
    Object.keys(statusByCode).filter((code) => !provoked.has(code)),
    [],
    'only answers of the admin address and of the backend are left out',
  )
  const refused = await call('GET', '/v1/pets', minute)
  const { sentence } = await explanationOf(ask, refused)
  t.match(sentence, 'The key “Minute” is banned')
})

t.test('the sentence is that of the example', async (t) => {
  const { gateway, ask } = await startAdmin(t, { clock: () => Date.UTC(2026, 5, 15, 12, 0, 41) })
  const { headers } = await gateway.key()
  let answer = await gateway.call('GET', '/v1/pets', undefined, headers)
  while (answer.status !== 429) answer = await gateway.call('GET', '/v1/pets', undefined, headers)
  t.match(await explanationOf(ask, answer), {
    sentence:
      '60 of 60 in this minute were used (plan free). It would have been let in from 12:01:00.',
    time: '2026-06-15T12:00:41.000Z',
    decidedBy: 'store',
  })
})

t.test('backends that can’t be asked, and stores, are named', async (t) => {
  const nowhere = { url: 'http://127.0.0.1:1', seen: [] }
  const { gateway, ask } = await startAdmin(t, {
    upstream: nowhere,
    upstreamMore: 'health: { path: /healthz, every: 20ms, unhealthyAfter: 40 }',
  })
  const { headers } = await gateway.key({ limits: { perMinute: 'unlimited' } })
  const call = () => gateway.call('GET', '/v1/pets', undefined, headers)
  const refused = await explanationOf(ask, await call())
  t.match(refused, { code: 'bad_gateway', reason: 'refused', target: nowhere.url })
  t.match(refused.sentence, nowhere.url)
  let last = refused
  await until(async () => {
    last = await explanationOf(ask, await call())
    return last.reason === 'none_healthy'
  })
  t.match(last, { code: 'service_unavailable', upstream: 'animals' })
})

t.test('the README’s example is 140 refusals and one ban in the timeline', async (t) => {
  let now = Date.UTC(2026, 5, 15, 12)
  const { gateway, ask } = await startAdmin(t, { clock: () => now })
  const { key, call } = gateway
  const { key: one, headers } = await key({ name: 'Acme' })
  const send = async (times: number) => {
    const all = Array.from({ length: times }, () => call('GET', '/v1/pets', undefined, headers))
    return Promise.all(all)
  }
  const refused = (await send(200)).filter(({ status }) => status === 429)
  t.equal(refused.length, 140)
  const { strikes, graceMs } = gateway.config.bans
  now += graceMs + 1
  await send(strikes)
  const timeline = json(await ask('GET', `/admin/keys/${one.id}/timeline`))
  await until(async () => {
    const lines = await gateway.stores.audit.list({ fromMs: 0, limit: 9, subject: one.id })
    return lines.length > 0
  })
  const told = json(await ask('GET', `/admin/keys/${one.id}/timeline`))
  const limits = { limit: 60, used: 60 }
  t.match(timeline['lines'], [
    {
      ...{ at: '2026-06-15T12:00:00.000Z', what: 'refused' },
      ...{ code: 'rate_limit_exceeded', reason: 'minute', ...limits },
      count: 140 + strikes - 1,
    },
    { what: 'refused', code: 'key_banned', reason: 'ban', count: 1, limit: null },
  ])
  const bans = (told['lines'] as { what: string; by?: string }[]).filter(({ what }) =>
    what.startsWith('bans.'),
  )
  t.match(bans, [{ what: 'bans.earn', by: 'gateway', after: { strikes } }])
  t.equal(bans.length, 1)
  t.match(told['sentence'], /^“Acme.* is banned until \S+, for going on after refusals/)
  now += 20 * 60_000
  const later = json(await ask('GET', `/admin/keys/${one.id}/timeline?from=2026-06-15T12:10:00Z`))
  t.strictSame(later['lines'], [])
  for (const query of ['from=yesterday', 'from=2026-06-16&to=2026-06-15', 'form=2026-06-15']) {
    t.equal((await ask('GET', `/admin/keys/${one.id}/timeline?${query}`)).status, 400, query)
  }
})

t.test('a request is explained by any gateway of a fleet, and by the command line', async (t) => {
  await t.test('with one Redis, which is told no token', async (t) => {
    const redis = await startRedis(t)
    const commands = await watchCommands(t, redis)
    const secret = await explainsTheFleet(t, `redis: "${redis.url}"`)
    t.match(commands.join('\n'), /publish \S+questions/i)
    t.notMatch(commands.join('\n'), secret.slice(20))
  })
  await t.test('with a Cluster', async (t) => {
    const { nodes } = await startCluster(t)
    await explainsTheFleet(t, `redis: { cluster: [ ${nodes.join()} ] }`)
  })
})

/** Gives back a token that was explained. */
async function explainsTheFleet(t: Test, store: string): Promise<string> {
  const options = { store, clock: Date.now }
  const one = await startAdmin(t, options)
  const { gateway: other } = await startAdmin(t, options)
  await until(() => one.gateway.stores.fleet.size === 2 && other.stores.fleet.size === 2)
  const { key: named, token: secret, headers } = await other.key({ limits: { perMinute: 1 } })
  const { id } = named
  await rename(other, id, 'One\u001b[2J')
  const send = (id: string) =>
    other.call('GET', `/v1/${secret}?key=${secret}`, undefined, {
      ...headers,
      'x-request-id': id,
      'x-canary': secret,
    })
  await until(async () => (await send('order.66_x-1')).status === 429)
  const began = performance.now()
  const answer = await one.ask('GET', '/admin/requests/order.66_x-1')
  const took = performance.now() - began
  t.ok(took < 1_000, `${took} ms`)
  const { answers, gateways } = json(answer) as unknown as Found
  t.strictSame(gateways, { asked: 2, answered: 2 })
  t.match(answers[0], { code: 'rate_limit_exceeded', reason: 'minute', route: '/v1/*' })
  t.notMatch(answer.text, secret.slice(20), 'no token is told')

  const explain = (...words: string[]) =>
    runCommand(['explain', ...words, '--config', one.file], {})
  const explained = await explain('order.66_x-1')
  t.equal(explained.code, 0, explained.out)
  t.match(explained.stdout, /^429 rate_limit_exceeded, .*: 1 of 1 in this minute were used/)
  t.notMatch(explained.out, /\u001b|undefined/)
  t.notMatch(explained.out, secret.slice(20))
  t.match(JSON.parse((await explain('order.66_x-1', '--json')).stdout), { answers: [{}] })

  await other.app.core.tallying.flush()
  const ofKey = await explain('One\u001b[2J')
  t.match(ofKey.stdout, /Last refused in the minute .*: \d+ refusals?, minute: 1 of 1 used\./)
  t.notMatch(ofKey.out, /\u001b/)
  t.equal((await explain(id)).code, 0)

  const nobody = await explain('order-67')
  t.equal(nobody.code, 1)
  t.match(nobody.out, /no key with the id or name "order-67"; and no refused or failed answer has/)
  t.match(nobody.out, /2 gateways keep \d+ refused or failed answers, all since/)
  for (const odd of [
    'x'.repeat(5_000),
    '../..',
    '%00',
    '"; DROP',
    '💥',
    `atg_${'A'.repeat(12)}_${'b'.repeat(38)}`,
  ]) {
    const { code, out } = await explain(odd)
    t.equal(code, 1, odd.slice(0, 20))
    t.notMatch(out, /b{20}/)
  }

  // A key may have the name of a request's id.
  await other.key({ name: 'order.66_x-1' })
  const both = await explain('order.66_x-1')
  t.equal(both.code, 1)
  t.match(both.out, /is the id of .* and names the key \w{12}/)
  await other.key({ name: 'order.66_x-1' })
  t.match((await explain('order.66_x-1')).out, /is the name of 2 keys/)
  t.match((await explain(id, '--days', '8')).out, /--days must be a whole number from 1 to 7/)
  t.match((await explain(secret)).out, /a token is a secret/)
  for (const [words, why] of [
    [['--at', '2099-01-01'], /--at is in the future/],
    [['--at', '2020-01-01'], /longer ago than the 7 days/],
    [['--at', new Date().toISOString(), '--days', '1'], /contradict each other/],
  ] as const) {
    t.match(await explain(id, ...words), { code: 2, out: why })
  }
  const later = json(await one.ask('GET', `/admin/keys/${id}/timeline?to=2099-12-31`))
  t.not((later['lines'] as unknown[]).length, 0, 'an end in the future leaves out nothing')

  // One that takes part in the fleet, and never answers.
  const { stores } = other
  const silent = { ...other.app.self.memberOf('x'), id: 'silent' }
  const leave = stores.fleet.join(
    () => silent,
    () => undefined,
  )
  await until(() => one.gateway.stores.fleet.size === 3)
  const beganAgain = performance.now()
  const two = json(await one.ask('GET', '/admin/requests/order.66_x-1')) as unknown as Found
  const tookAgain = performance.now() - beganAgain
  t.strictSame(two.gateways, { asked: 3, answered: 2 })
  t.ok(tookAgain < 1_500 && two.answers.length === 1, `${tookAgain} ms`)
  t.match((await explain('order-67')).out, /2 of 3 gateways answer, and keep/)
  await leave()
  return secret
}

/** Gives a key a name that operators can't give: another program may have written to the store. */
async function rename({ stores }: Gateway, id: string, name: string): Promise<void> {
  const stored = await stores.keys.get(id)
  if (!stored) throw new Error(`there is no key ${id}`)
  await stores.keys.replace({ ...stored.key, name }, stored.version)
}

t.test('a gateway that is alone is asked at its admin address', async (t) => {
  const { gateway, ask, url, write, file } = await startAdmin(t, {
    admin: `{ host: 127.0.0.1, port: 1 }`,
  })
  const answer = await gateway.call('GET', '/v1/pets', undefined, { 'x-request-id': 'alone' })
  t.equal(answer.status, 401)
  await explanationOf(ask, answer)
  const explain = (what: string) =>
    runCommand(['explain', what, '--config', file], { ADMIN_TOKEN: token })
  t.match((await explain('alone')).out, /no gateway answers at/)
  const { key } = await gateway.key({ name: 'Silent' })
  t.match(
    (await explain('Silent')).stdout,
    `“Silent” is let in`,
    'keys are explained from the file',
  )
  t.match((await explain(key.id)).stdout, 'Nothing was refused')
  write((text) =>
    text.replace(/^admin: .*$/m, `admin: { host: 127.0.0.1, port: ${new URL(url).port} }`),
  )
  t.match((await explain('alone')).stdout, /^401 missing_api_key, .*: No API key was sent\./)
  t.match((await explain('nothing')).out, /1 gateway keeps 1 refused or failed answers, all since/)
})

t.test('of many answers with one id the newest are told', async (t) => {
  const { gateway, ask } = await startAdmin(t, {
    more: 'strangers: { perMinute: 5000, perDay: 5000 }',
  })
  const id = 'a.-_'.repeat(32)
  for (let i = 0; i < 1_000; i += 50) {
    const all = Array.from({ length: 50 }, (_, n) =>
      gateway.call('GET', `/v1/${i + n}`, undefined, { 'x-request-id': id }),
    )
    t.ok((await Promise.all(all)).every(({ headers }) => headers['x-request-id'] === id))
  }
  await until(() => gateway.app.core.recentRefusals.count === 1_000)
  const { answers } = json(await ask('GET', `/admin/requests/${id}`)) as unknown as Found
  t.equal(answers.length, 20)
  t.ok(answers.every(({ path }) => Number(path.slice('/v1/'.length)) >= 950))
  const text = JSON.stringify(await ask('GET', '/admin/requests/another'))
  t.match(text, /keeps 1,000 refused or failed answers, all since/)
})

t.test('a million refusals leave nothing behind but their slots', (t) => {
  const heap = (): number => {
    collectGarbage()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return (heapUsed + arrayBuffers) / 2 ** 20
  }
  const before = heap()
  const refusals = new RecentRefusals(0)
  const keep = (i: number): void => {
    const record = new RequestRecord(someRoute)
    record.refusal = new Refusal('missing_api_key', 'No.').because('no_header')
    const about = {
      id: `request-${i}`,
      method: 'GET',
      path: `/v1/${i}`,
      status: 401,
      atMs: i,
      endedAtMs: 0,
    }
    refusals.keep(about, record, { upstream: 'animals', config: 'c' })
  }
  for (let i = 0; i < 1_000_000; i++) keep(i)
  const grown = heap() - before
  t.ok(grown < 15, `${grown.toFixed(1)} MB`)
  t.equal(refusals.count, 20_000)
  t.equal(refusals.sinceMs, 980_000)
  t.match(refusals.find('request-999999'), [{ path: '/v1/999999', atMs: 999_999 }])
  t.strictSame(refusals.find('request-979999'), [])
  t.end()
})

t.test('a key that is refused without end keeps nothing else from being written', async (t) => {
  const added: RefusalBatch[] = []
  const { gateway } = await startAdmin(t)
  const one = await gateway.key()
  const callerOf = ({ token }: typeof one): Caller => {
    const found = gateway.app.core.directory.look(token)
    if (typeof found === 'string' || found instanceof Promise) throw new Error('it is there')
    return found
  }
  const record = new RequestRecord(someRoute)
  const refuse = (who: Caller, reason: 'method' | 'path'): void => {
    record.refusal = new Refusal('forbidden', 'No.').because(reason)
    timeline.count(who, record, 1_000)
  }
  const [busy, other] = [callerOf(one), callerOf(await gateway.key())]
  const timeline = new Timeline({
    add: (batch) => {
      added.push(batch)
      // The next refusal comes before the store has answered.
      refuse(busy, 'method')
      return Promise.resolve()
    },
    list: () => Promise.resolve([]),
  })
  for (let i = 0; i < 30_000; i++) refuse(busy, i % 2 === 0 ? 'method' : 'path')
  for (let i = 0; i < 100; i++) refuse(other, 'path')
  await timeline.write()
  t.equal(added.length, 1, 'it ends')
  const counts = added.flatMap(({ refusals }) => refusals.map(({ key, count }) => [key, count]))
  t.strictSame(counts, [
    [busy.id, 15_000],
    [busy.id, 15_000],
    [other.id, 100],
  ])
  await timeline.write()
  t.match(added[1]?.refusals, [{ key: busy.id, count: 1 }], 'later ones come with the next')
})

t.test('a secret at the end of a path that was cut is not told', async (t) => {
  const { gateway, ask } = await startAdmin(t)
  const { token: secret } = await gateway.key()
  for (const length of [100, 110, 118, 124]) {
    const path = `/v1/${'x'.repeat(length - 4)}/${secret}`
    const { path: told } = await explanationOf(ask, await gateway.call('GET', path))
    t.ok(told.endsWith('…'), told)
    t.notMatch(told, secret.slice(20, 24))
  }
})
