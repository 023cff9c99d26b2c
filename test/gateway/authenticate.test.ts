import { connect } from 'node:net'
import type { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { crc32 } from 'node:zlib'
import {
  clientAddress,
  neighbourhoodOf,
  plainAddress,
  Ranges,
  unreadableAddress,
} from '../../gateway/http/address.ts'
import { newKeyId, newToken } from '../../gateway/keys/token.ts'
import { json, raw, type Answer } from '../support/http.ts'
import { startStore } from '../support/backend.ts'
import { startGateway, startUpstream, type GatewayOptions } from '../support/gateway.ts'
import { startRedis, startCluster } from '../support/redis.ts'
import { until } from '../support/until.ts'

const minute = 60_000

function isRefused(t: Test, answer: Answer, status: number, code: string): void {
  t.equal(answer.status, status)
  t.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  const body = json(answer)
  t.strictSame(Object.keys(body), ['code', 'message', 'status'])
  t.strictSame([body['code'], body['status']], [code, status])
}

t.test('who has a key is let through, and the backend is told who it is', async (t) => {
  const { call, key, upstream } = await startGateway(t)
  const { headers, key: acme } = await key({ name: 'Acme', plan: 'pro' })
  const forged = { ...headers, 'x-caller-id': 'boss', cookie: 'a=b', 'x-request-id': 'r-1' }
  const answer = await call('GET', '/v1/pets?limit=1', undefined, forged)
  t.equal(answer.status, 200)
  t.equal(answer.text, '{"up":"stream"}')
  t.equal(answer.headers['x-request-id'], 'r-1')
  const [request] = upstream.seen
  t.equal(request?.url, '/v1/pets?limit=1')
  t.match(request?.headers, {
    'x-caller-id': acme.id,
    'x-caller-plan': 'pro',
    'x-request-id': 'r-1',
  })
  t.equal(request?.headers.authorization, undefined)
  t.equal(request?.headers.cookie, undefined)
  isRefused(t, await call('GET', '/nowhere', undefined, headers), 404, 'not_found')
})

t.test('the Authorization header is read strictly', async (t) => {
  const { call, key, url, upstream } = await startGateway(t, {
    more: 'strangers: { perMinute: 1000, perDay: 1000 }',
  })
  const { token } = await key()
  const authorized = (authorization: string) =>
    call('GET', '/v1/pets', undefined, { authorization })

  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer ']) {
    t.equal((await authorized(`${scheme} ${token}`)).status, 200, scheme)
  }
  const missing = await call('GET', '/v1/pets')
  isRefused(t, missing, 401, 'missing_api_key')
  t.equal(missing.headers['www-authenticate'], 'Bearer realm="tollgate"')
  t.equal(missing.headers['cache-control'], 'no-store')
  for (const value of [
    token,
    `Basic ${token}`,
    `Bearer${token}`,
    'Bearer',
    `Bearer ${token} x`,
    `Bearer ${token},`,
    `Bearer "${token}"`,
    `Bearer ${token}\u00e9`,
    `Bearer ${'a'.repeat(513)}`,
    `Token ${token}`,
    `Bearer =${token}`,
  ]) {
    const answer = await authorized(value)
    isRefused(t, answer, 401, 'invalid_api_key')
    t.equal(answer.headers['www-authenticate'], 'Bearer realm="tollgate", error="invalid_token"')
  }
  const two = `Authorization: Bearer ${token}\r\n`
  t.match(
    await raw(url, `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${two}${two}Connection: close\r\n\r\n`),
    /^HTTP\/1\.1 401/,
  )
  for (const path of [`/v1/pets?api_key=${token}`, `/v1/pets?access_token=${token}`]) {
    isRefused(
      t,
      await call('GET', path, undefined, { cookie: `token=${token}`, 'x-api-key': token }),
      401,
      'missing_api_key',
    )
  }
  t.equal(upstream.seen.length, 5, 'and nothing of it reached the backend')
})

t.test(
  'expired, disabled, revoked, rotated away, mistyped and invented keys look the same',
  async (t) => {
    let now = Date.now()
    const { call, key, desk } = await startGateway(t, {
      clock: () => now,
      more: 'strangers: { perMinute: 1000, perDay: 1000 }',
    })
    const [expired, disabled, revoked, rotated] = await Promise.all([
      key({ expiresAtMs: now + minute }),
      key(),
      key(),
      key(),
    ])
    const ask = (headers: { authorization: string }) => call('GET', '/v1/pets', undefined, headers)
    for (const { headers } of [expired, disabled, revoked, rotated])
      t.equal((await ask(headers)).status, 200)

    now += minute
    await desk.edit(disabled.key.id, desk.disabling(true))
    await desk.edit(revoked.key.id, desk.revoking())
    const next = await desk.rotate(rotated.key.id, 0)
    const mistyped = rotated.token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
    const invented = newToken(newKeyId())
    const refused = [
      expired.token,
      disabled.token,
      revoked.token,
      rotated.token,
      mistyped,
      invented,
      'tg_',
      'x',
    ]
    const answers = await Promise.all(
      refused.map((token) => ask({ authorization: `Bearer ${token}` })),
    )
    const shapes = answers.map(({ status, text, headers }) => {
      const { date, 'x-request-id': id, 'x-ratelimit-remaining': left, ...others } = headers
      t.ok(date && id && left)
      return JSON.stringify({ status, text, others })
    })
    isRefused(t, answers[0] as Answer, 401, 'invalid_api_key')
    t.equal(new Set(shapes).size, 1, 'byte for byte')
    t.equal((await ask({ authorization: `Bearer ${next.token}` })).status, 200)
    await desk.edit(disabled.key.id, desk.disabling(false))
    t.equal((await ask(disabled.headers)).status, 200, 'an enabled key is back at once')
  },
)

t.test('a rotated key keeps its old token for the overlap, and only the last two', async (t) => {
  let now = Date.now()
  const { call, key, desk } = await startGateway(t, { clock: () => now })
  const first = await key()
  const second = await desk.rotate(first.key.id, minute)
  const works = async (token: string) =>
    (await call('GET', '/v1/pets', undefined, { authorization: `Bearer ${token}` })).status === 200
  t.ok((await works(first.token)) && (await works(second.token)))
  now += minute - 1
  t.ok(await works(first.token), 'to the last millisecond')
  const third = await desk.rotate(first.key.id, minute)
  t.notOk(await works(first.token), 'the one before the last ends with the next rotation')
  t.ok((await works(second.token)) && (await works(third.token)))
  now += minute
  t.notOk(await works(second.token))
  t.ok(await works(third.token))
})

t.test('a key that is restricted gets 403 for anything else', async (t) => {
  const { call, key } = await startGateway(t)
  const allowed = async (settings: object, method: string, path: string) => {
    const { headers } = await key(settings)
    const answer = await call(method, path, undefined, headers)
    if (answer.status !== 200) isRefused(t, answer, 403, 'forbidden')
    return answer.status === 200
  }
  t.ok(await allowed({ methods: ['GET', 'HEAD'] }, 'GET', '/v1/pets'))
  t.notOk(await allowed({ methods: ['GET', 'HEAD'] }, 'DELETE', '/v1/pets/1'))
  t.ok(await allowed({ paths: ['/v1/pets', '/v1/pets/{petId}'] }, 'GET', '/v1/pets/1?x=/v1/store'))
  for (const path of ['/v1/store/orders', '/v1/pets/1/x', '/v1/pets/', '/V1/pets']) {
    t.notOk(await allowed({ paths: ['/v1/pets', '/v1/pets/{petId}'] }, 'GET', path), path)
  }
  t.ok(await allowed({ paths: ['/v1/pets'] }, 'GET', '/v1/%70ets'), 'a spelling of the same path')
  t.ok(await allowed({ paths: ['/v1/pets/*'] }, 'GET', '/v1/pets/1/x'))
  t.notOk(await allowed({ paths: ['/v1/pets/*'] }, 'GET', '/v1/petshop'))
  t.ok(await allowed({ addresses: ['127.0.0.0/8'] }, 'GET', '/v1/pets'))
  t.notOk(await allowed({ addresses: ['10.0.0.0/8', '2001:db8::/32'] }, 'GET', '/v1/pets'))
})

function strangerLimits(perMinute: number | string, perDay: number | string): string {
  return `strangers: { perMinute: ${perMinute}, perDay: ${perDay} }\ntrustedProxies: [127.0.0.0/8]`
}

function sentFrom(address: string): { 'x-forwarded-for': string } {
  return { 'x-forwarded-for': address }
}

/** A gateway, and strangers that ask it. */
async function startOne(t: Test, options: GatewayOptions) {
  const gateway = await startGateway(t, options)
  const { strangers } = gateway.app.core
  /** Asks as often, one after the other, and counts the statuses. */
  const ask = async (address: string, times: number) => {
    const statuses: Record<number, number> = {}
    for (let i = 0; i < times; i++) {
      const { status } = await gateway.call('GET', '/v1/pets', undefined, sentFrom(address))
      statuses[status] = (statuses[status] ?? 0) + 1
    }
    return statuses
  }
  const used = (address: string) => strangers.stand(address).minuteUsed
  const usedOfDay = (address: string) => strangers.stand(address).dayUsed
  return { ...gateway, ask, used, usedOfDay }
}

async function openRedis(t: Test, kind: 'one Redis' | 'a Cluster') {
  if (kind === 'one Redis') {
    const { url, client } = await startRedis(t)
    return { store: `redis: "${url}"`, clients: [client] }
  }
  const { nodes, clients } = await startCluster(t)
  return { store: `redis: { cluster: ${JSON.stringify(nodes)} }`, clients }
}

/** How often strangers were told of: nothing else adds to plain numbers. */
async function callsOf(clients: readonly Redis[]): Promise<number> {
  const calls = await Promise.all(
    clients.map(async (client) => {
      const [, count = 0] =
        /cmdstat_incrby:calls=(\d+)/.exec(await client.info('commandstats')) ?? []
      return Number(count)
    }),
  )
  return calls.reduce((sum, count) => sum + count, 0)
}

/** The counts of strangers in Redis. */
async function sumsIn(clients: readonly Redis[]) {
  const sums = clients.map(async (client) => {
    const names = await client.keys('*strangers:*')
    return Promise.all(
      names.map(async (name) => {
        const [sum, seconds] = [Number(await client.get(name)), await client.ttl(name)]
        return { name, sum, seconds }
      }),
    )
  })
  return (await Promise.all(sums)).flat()
}

/** Whether the counts of these windows have come to this sum in Redis. */
async function haveCome(clients: readonly Redis[], to: number, windows = ['minute', 'day']) {
  const sums = await sumsIn(clients)
  return windows.every((window) =>
    sums.some(({ name, sum }) => name.includes(`:${window}:`) && sum === to),
  )
}

t.test('strangers', async (t) => {
  t.test('over their limit get 429, keys from the same address go on', async (t) => {
    let now = 1_790_000_010_000
    const { call, key, stores } = await startGateway(t, {
      clock: () => now,
      more: 'strangers: { perMinute: 5, perDay: 8 }',
    })
    const [warm, cold] = [await key(), await key()]
    const works = async ({ headers }: typeof warm) =>
      (await call('GET', '/v1/pets', undefined, headers)).status
    t.equal(await works(warm), 200)
    for (let i = 0; i < 5; i++) t.equal((await call('GET', '/v1/pets')).status, 401)

    const find = stores.keys.find.bind(stores.keys)
    let lookups = 0
    stores.keys.find = (hash) => (lookups++, find(hash))
    for (const authorization of [
      undefined,
      'nonsense',
      'Bearer x',
      `Bearer ${newToken(newKeyId())}`,
    ]) {
      const answer = await call(
        'GET',
        '/v1/pets',
        undefined,
        authorization ? { authorization } : {},
      )
      isRefused(t, answer, 429, 'too_many_failed_attempts')
      t.equal(answer.headers['retry-after'], '30', 'until the minute ends')
      t.equal(answer.headers['cache-control'], 'no-store')
    }
    t.equal(lookups, 0, 'without a look at the store')
    t.equal(await works(warm), 200, 'a key that was met')
    t.equal(await works(cold), 200, 'and one that was not')
    now += 30_000
    for (let i = 0; i < 3; i++) t.equal((await call('GET', '/v1/pets')).status, 401, 'a new minute')
    const dayIsOver = await call('GET', '/v1/pets')
    t.equal(dayIsOver.status, 429)
    now += Number(dayIsOver.headers['retry-after']) * 1_000
    t.equal((await call('GET', '/v1/pets')).status, 401, 'who waits as long as told is heard again')
  })

  t.test(
    'over their limit have Redis asked nothing, whatever ids their tokens carry',
    async (t) => {
      const { url, client } = await startRedis(t)
      const { call, key, desk } = await startGateway(t, {
        store: `redis: "${url}"`,
        clock: () => 1_790_000_010_000,
        more: 'strangers: { perMinute: 5, perDay: 1000 }',
      })
      const [victim, cold, rotated] = [await key(), await key(), await key()]
      const status = async (token: string) =>
        (await call('GET', '/v1/pets', undefined, { authorization: `Bearer ${token}` })).status
      for (let i = 0; i < 5; i++) t.equal((await call('GET', '/v1/pets')).status, 401)
      const scripts = async () => {
        const found = /cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))
        return Number(found?.[1])
      }
      /** How many scripts 300 tokens of a stranger cost. */
      const costOf = async (token: () => string) => {
        const before = await scripts()
        for (let i = 0; i < 300; i++) t.equal(await status(token()), 429)
        return (await scripts()) - before
      }
      // Until the gateway has read which keys there are, it asks for everything.
      await until(async () => (await costOf(() => newToken(newKeyId()))) < 30)
      const invented = await costOf(() => newToken(newKeyId()))
      const ofAKey = await costOf(() => newToken(victim.key.id))
      t.comment(
        `300 tokens with invented ids cost ${invented} scripts, with the id of a key ${ofAKey}`,
      )
      // Usage is written down meanwhile, once a second.
      t.ok(invented < 30, 'the control')
      t.ok(ofAKey < 30)
      t.equal(await status(cold.token), 200, 'a key that was not met yet')
      const issued = await desk.rotate(rotated.key.id, 60_000)
      await until(async () => (await status(issued.token)) === 200, 1_000)
      t.equal(await status(rotated.token), 200, 'for the overlap')
      const made = await key()
      await until(async () => (await status(made.token)) === 200, 1_000)
    },
  )

  for (const kind of ['one Redis', 'a Cluster'] as const) {
    t.test(`are counted by the fleet: ${kind}`, async (t) => {
      const { store, clients } = await openRedis(t, kind)
      let now = 1_790_000_010_000
      const limits = { store, clock: () => now, more: strangerLimits(20, 100) }
      const [first, second] = [await startOne(t, limits), await startOne(t, limits)]
      t.strictSame(await first.ask('2001:db8::1', 12), { 401: 12 })
      // The second one learns with its own count what is there by then.
      await until(() => haveCome(clients, 12))
      t.strictSame(await second.ask('2001:db8::2', 1), { 401: 1 }, 'no answer waits for the others')
      await until(() => second.used('2001:db8::3') === 13)
      const before = await callsOf(clients)
      t.strictSame(await second.ask('2001:db8::2', 300), { 401: 7, 429: 293 }, 'of one /64')
      await until(() => haveCome(clients, 20))
      t.strictSame(await first.ask('2001:db8::1', 1), { 401: 1 }, 'nobody has told it yet')
      await until(() => first.used('2001:db8::1') === 21)
      const told = await callsOf(clients)
      const over = await first.call('GET', '/v1/pets', undefined, sentFrom('2001:db8::1'))
      isRefused(t, over, 429, 'too_many_failed_attempts')
      t.match(over.headers, { 'x-ratelimit-remaining': '0', 'retry-after': '30' })
      t.strictSame(await first.ask('2001:db8::1', 300), { 429: 300 })
      t.equal(await callsOf(clients), told, 'one that is over costs no call')
      t.ok(told - before <= 2 * 8, `8 that were counted cost ${told - before} calls`)
      const { headers } = await first.key()
      t.equal((await first.call('GET', '/v1/pets', undefined, headers)).status, 200)

      const sums = await sumsIn(clients)
      t.equal(sums.length, 2, 'a minute and a day')
      for (const { name, seconds } of sums) {
        t.notMatch(name, /2001|db8/)
        const lengthMs = name.includes(':minute:') ? 60_000 : 86_400_000
        const longest = (lengthMs - (now % lengthMs)) / 1_000 + 6
        t.ok(seconds > 0 && seconds <= longest, `${name} ends by itself after ${seconds} s`)
      }
      for (const sent of [41, 61, 81]) {
        now += 60_000
        t.strictSame(await first.ask('2001:db8::1', 20), { 401: 20 }, 'a new minute')
        await until(async () => (await sumsIn(clients)).some(({ sum }) => sum === sent))
      }
      now += 60_000
      t.strictSame(await second.ask('2001:db8::1', 1), { 401: 1 })
      await until(() => second.usedOfDay('2001:db8::1') === 82)
      t.strictSame(await second.ask('2001:db8::1', 30), { 401: 18, 429: 12 }, 'the day is over')
    })
  }

  t.test('are counted by each gateway while Redis is gone, then by the fleet again', async (t) => {
    const redis = await startRedis(t)
    const store = `redis: "${redis.url}"`
    const limits = { store, clock: () => 1_790_000_010_000, more: strangerLimits(20, 1_000) }
    const [first, second] = [await startOne(t, limits), await startOne(t, limits)]
    t.strictSame(await first.ask('9.9.9.9', 5), { 401: 5 })
    // The day's points are told by tens, those of the minute at once.
    await until(() => haveCome([redis.client], 5, ['minute']))
    t.strictSame(await second.ask('9.9.9.9', 1), { 401: 1 })
    await until(() => second.used('9.9.9.9') === 6)
    await redis.kill()
    t.strictSame(await first.ask('9.9.9.9', 25), { 401: 15, 429: 10 })
    t.strictSame(await second.ask('9.9.9.9', 25), { 401: 14, 429: 11 }, 'it knows of six')
    await redis.restart()
    // The points of the outage are told without another request of the address.
    await until(() => haveCome([redis.client], 15 + 14, ['minute']))
    const third = await startOne(t, limits)
    t.strictSame(await third.ask('9.9.9.9', 1), { 401: 1 })
    await until(() => third.used('9.9.9.9') === 30)
    t.strictSame(await third.ask('9.9.9.9', 3), { 429: 3 })
  })

  t.test('without limits are told to nobody', async (t) => {
    const { url, client } = await startRedis(t)
    const more = strangerLimits('unlimited', 'unlimited')
    const { ask } = await startOne(t, { store: `redis: "${url}"`, more })
    t.strictSame(await ask('9.9.9.9', 50), { 401: 50 })
    t.strictSame([await callsOf([client]), await sumsIn([client])], [0, []])
  })

  t.test('are told apart by the address that trusted proxies name', async (t) => {
    const { call } = await startGateway(t, {
      more: 'strangers: { perMinute: 2, perDay: 100 }\ntrustedProxies: [127.0.0.0/8]',
    })
    const from = async (forwarded: string) =>
      (await call('GET', '/v1/pets', undefined, { 'x-forwarded-for': forwarded })).status
    t.strictSame(
      [await from('9.9.9.9'), await from('9.9.9.9'), await from('9.9.9.9')],
      [401, 401, 429],
    )
    t.equal(await from('8.8.8.8'), 401, 'another address')
    t.equal(
      await from('8.8.8.8, 9.9.9.9'),
      429,
      'what the client claims to the left is not believed',
    )
    t.equal(await from('9.9.9.9, 127.0.0.1'), 429, 'a trusted hop is passed over')
  })

  t.test('gain nothing by twenty invented hops', async (t) => {
    const { url, key } = await startGateway(t, {
      more: 'strangers: { perMinute: 2, perDay: 100 }\ntrustedProxies: [127.0.0.0/8]',
    })
    const { token } = await key({ addresses: ['127.0.0.0/8'] })
    const ask = async (hops: string, more = '') =>
      Number(
        (
          await raw(
            url,
            `GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${hops}${more}\r\n\r\n`,
          )
        ).slice(9, 12),
      )
    const authorized = `Authorization: Bearer ${token}\r\n`
    const invented = Array.from({ length: 20 }, (_, i) => `127.0.0.${i + 1}`).join(', ')
    t.equal(await ask('', authorized), 200, 'the proxy itself')
    t.equal(await ask('X-Forwarded-For: 127.0.0.9\r\n', authorized), 200, 'its neighbour')
    for (const hops of ['203.0.113.9', `${invented}, 203.0.113.9`, '', 'unknown', '[::1]:1']) {
      const header = `X-Forwarded-For: ${hops}\r\n`
      t.equal(await ask(header, authorized), 403, `the key, from "${hops}"`)
    }
    const statuses = []
    for (let i = 0; i < 3; i++) {
      statuses.push(await ask(`X-Forwarded-For: ${invented}, 10.0.${i}.1, 203.0.113.9\r\n`))
    }
    t.strictSame(statuses, [401, 401, 429], 'and it is counted')
  })

  t.test('cannot forge their address where no proxy is trusted', async (t) => {
    const { call } = await startGateway(t, { more: 'strangers: { perMinute: 1, perDay: 100 }' })
    const statuses = []
    for (const ip of ['1.1.1.1', '2.2.2.2'])
      statuses.push((await call('GET', '/', undefined, { 'x-forwarded-for': ip })).status)
    t.strictSame(statuses, [401, 429])
  })
})

t.test('addresses', (t) => {
  const trusted = new Ranges(['10.0.0.0/8', '127.0.0.1', '2001:db8::/32'])
  const client = (socket: string, forwarded?: string | string[]) =>
    clientAddress(
      {
        socket: { remoteAddress: socket },
        headers: { ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }) },
      },
      trusted,
    )
  t.equal(client('8.8.8.8', '1.2.3.4'), '8.8.8.8', 'nobody is believed who is not trusted')
  t.equal(client('10.0.0.1'), '10.0.0.1', 'a proxy that asks by itself is itself')
  t.equal(client('10.0.0.1', '10.2.2.2'), '10.2.2.2', 'all trusted: the first of them')
  t.equal(clientAddress({ socket: {} }, trusted), '', 'who has gone has no address')
  const invented = Array<string>(30).fill('10.1.1.1').join(',')
  for (const [forwarded, address] of [
    ['1.2.3.4', '1.2.3.4'],
    ['1.2.3.4, 10.9.9.9, ::ffff:10.1.1.1', '1.2.3.4'],
    [['1.1.1.1', '1.2.3.4'], '1.2.3.4'],
    // As some proxies write it.
    ['203.0.113.9:5678', '203.0.113.9'],
    ['[2001:db9::1]:443', '2001:db9::1'],
    ['[2001:db9::1]', '2001:db9::1'],
    ['[::1]', '::1'],
    ['203.0.113.9,10.1.1.1:80', '203.0.113.9'],
    ['203.0.113.9, [2001:db8::7]:443', '203.0.113.9'],
    ['[::ffff:203.0.113.9]:80', '203.0.113.9'],
    ['  203.0.113.9\t', '203.0.113.9'],
    // However IPv4 is mapped into IPv6, it is IPv4.
    ['::ffff:c000:201', '192.0.2.1'],
    ['::FFFF:C000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['0000:0000:0000:0000:0000:ffff:c000:0201', '192.0.2.1'],
    ['0::ffff:192.0.2.1', '192.0.2.1'],
    ['203.0.113.9, ::ffff:a01:101', '203.0.113.9'],
    ['::ffff:0:c000:201', '::ffff:0:c000:201'],
    ['1::ffff:c000:201', '1::ffff:c000:201'],
    // Of invented hops none counts but the last, which the proxy has written.
    [`${invented}, 203.0.113.9`, '203.0.113.9'],
    [`203.0.113.9, ${invented}`, '10.1.1.1'],
    [`${'x,'.repeat(5_000)}203.0.113.9`, '203.0.113.9'],
    // An unreadable address is nobody's, and never the proxy's.
    ['5.5.5.5, nonsense, 10.1.1.1', unreadableAddress],
    ['', unreadableAddress],
    [' ', unreadableAddress],
    [',', unreadableAddress],
    ['203.0.113.9,', unreadableAddress],
    ['unknown', unreadableAddress],
    ['_hidden', unreadableAddress],
    ['203.0.113.9:', unreadableAddress],
    ['203.0.113.9:80:80', unreadableAddress],
    ['1.2.3.256', unreadableAddress],
    ['[203.0.113.9', unreadableAddress],
    ['[]:80', unreadableAddress],
    ['[::1]x', unreadableAddress],
    ['::ffff:1.2.3.4.5', unreadableAddress],
  ] as const) {
    t.equal(client('10.0.0.1', forwarded as string | string[]), address, JSON.stringify(forwarded))
  }
  t.equal(client('::ffff:10.0.0.1', '1.2.3.4'), '1.2.3.4', 'a proxy at a socket for both')
  t.equal(client('2001:db8::1', '2a00::5'), '2a00::5')
  t.notOk(new Ranges(['0.0.0.0/0', '::/0']).has(unreadableAddress), 'it is in no range')
  t.equal(plainAddress('::FFFF:1.2.3.4'), '1.2.3.4')
  t.equal(neighbourhoodOf('1.2.3.4'), '1.2.3.4')
  for (const address of [
    '2001:db8:1:2:3:4:5:6',
    '2001:db8:1:2::',
    '2001:0db8:0001:0002::ffff',
    '2001:db8:1:2::1%eth0',
  ]) {
    t.equal(neighbourhoodOf(address), '2001:db8:1:2::/64', address)
  }
  t.equal(neighbourhoodOf('::1'), '0:0:0:0::/64')
  t.equal(neighbourhoodOf('1::2:3:4:5:1.2.3.4'), '1:0:2:3::/64')
  t.equal(neighbourhoodOf(unreadableAddress), unreadableAddress, 'a name of its own')
  for (const bad of ['10.0.0.0/33', 'x', '10.0.0.0/8/8', '::/129', '10.0.0.0/', '']) {
    t.throws(() => new Ranges([bad]), { message: `"${bad}" is no address and no range` }, bad)
  }
  t.end()
})

t.test('a refusal comes before the body is read, and arrives', async (t) => {
  const { url } = await startGateway(t)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.write(
    'POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{',
  )
  const answer = await new Promise<string>((resolve) =>
    socket.once('data', (data) => resolve(data.toString())),
  )
  t.match(answer, /^HTTP\/1\.1 401/)
})

t.test('a key whose plan is gone, or that a store cannot check', async (t) => {
  const { call, key, stores } = await startGateway(t)
  const { headers, key: record } = await key()
  const { headers: unmet } = await key()
  const { version } = (await stores.keys.get(record.id)) ?? { version: 0 }
  await stores.keys.replace({ ...record, plan: 'gone' }, version)
  isRefused(t, await call('GET', '/v1/pets', undefined, headers), 403, 'forbidden')
  stores.keys.find = () => Promise.reject(new Error('out of reach'))
  // Nobody but the store can say whose token this is, that wasn't met yet.
  const unchecked = await call('GET', '/v1/pets', undefined, unmet)
  isRefused(t, unchecked, 503, 'service_unavailable')
  t.equal(unchecked.headers['retry-after'], '5')
  stores.keys.find = () => {
    throw new Error('out of reach')
  }
  t.equal((await call('GET', '/v1/pets', undefined, unmet)).status, 503)
})

t.test('what is forwarded is signed, so that the animal store believes it', async (t) => {
  const store = await startStore(t, { secret: 's3cret' })
  const { call, key } = await startGateway(t, {
    upstream: { url: store.url, seen: [] },
    secret: 's3cret',
  })
  const { headers } = await key()
  const forged = {
    ...headers,
    'x-caller-plan': 'enterprise',
    'x-gateway-signature': 't=1,v1=00',
    x_caller_id: 'boss',
  }
  t.equal((await store.call('GET', '/v1/pets')).status, 403)
  t.equal((await call('GET', '/v1/pets?limit=2', undefined, forged)).status, 200)
  t.equal((await call('POST', '/v1/pets', { name: 'Rex', categoryId: 1 }, headers)).status, 201)
  const unsigned = await startGateway(t, { upstream: { url: store.url, seen: [] } })
  const other = await unsigned.key()
  t.match(await unsigned.call('GET', '/v1/pets', undefined, other.headers), {
    status: 502,
    text: /does not take requests from this gateway/,
  })
  const spent = json(await unsigned.call('GET', '/v1/quota', undefined, other.headers))
  t.match(spent, { day: { remaining: 1_000 } }, 'that is no fault of the caller')
  // A secret is changed on one side at a time: the first of two signs, both are believed.
  const renewed = await startStore(t, { secret: 'new,s3cret' })
  const older = await startGateway(t, {
    upstream: { url: renewed.url, seen: [] },
    secret: 's3cret,older',
  })
  const third = await older.key()
  t.equal((await older.call('GET', '/v1/pets', undefined, third.headers)).status, 200)
})

t.test('a backend that sends back what it got does not refuse the gateway', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    for (const name of Object.keys(request.headers)) {
      if (name.startsWith('x-')) response.setHeader(name, request.headers[name] ?? '')
    }
    const isRefusal = request.url === '/v1/refused'
    if (isRefusal) response.setHeader('x-gateway-signature', 'refused')
    response.writeHead(isRefusal ? 403 : 200).end('{}')
  })
  const { call, key } = await startGateway(t, { upstream, secret: 's3cret' })
  const { headers } = await key()
  const answer = await call('GET', '/v1/echo', undefined, headers)
  t.equal(answer.status, 200)
  t.match(upstream.seen[0]?.headers['x-gateway-signature'], /^t=/)
  t.equal(answer.headers['x-gateway-signature'], undefined, 'and nobody else learns what it got')
  t.equal((await call('GET', '/v1/refused', undefined, headers)).status, 502, 'one that does, does')
})

t.test('a damaged record hurts its own key alone', async (t) => {
  const { call, key, stores, desk } = await startGateway(t)
  const [good, bad] = [await key(), await key()]
  const damaged = { ...bad.key, addresses: ['nonsense'] }
  const { version = 0 } = (await stores.keys.get(bad.key.id)) ?? {}
  await stores.keys.replace(damaged, version)
  t.equal((await call('GET', '/v1/pets', undefined, bad.headers)).status, 500)
  t.equal((await call('GET', '/v1/pets', undefined, good.headers)).status, 200)
  t.equal((await desk.show(good.key.id)).id, good.key.id)
})

t.test('the check of a token is the CRC-32 of all before it, in base62', (t) => {
  // Written out: operators teach their secret scanners this form.
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  for (let i = 0; i < 50; i++) {
    const token = newToken(newKeyId())
    t.match(token, /^tg_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/)
    const value = [...token.slice(-6)].reduce((sum, digit) => sum * 62 + alphabet.indexOf(digit), 0)
    t.equal(value, crc32(token.slice(0, -6)))
  }
  t.end()
})

t.test('a key whose plan is gone is refused, is no stranger, and fills no log', async (t) => {
  let now = Date.UTC(2026, 5, 15, 12)
  const written: string[] = []
  const gateway = await startGateway(t, {
    clock: () => now,
    more: 'strangers: { perMinute: 2, perDay: 10 }',
    log: { level: 'error', target: { write: (line: string) => void written.push(line) } },
  })
  const { headers } = await gateway.key({ plan: 'pro' })
  const plans = new Map([...gateway.config.plans].filter(([name]) => name !== 'pro'))
  await gateway.app.change({ ...gateway.config, plans })
  const ask = async () => {
    const answer = await gateway.call('GET', '/v1/pets', undefined, headers)
    isRefused(t, answer, 403, 'forbidden')
    t.equal(answer.headers['x-ratelimit-remaining'], '2')
  }
  for (let i = 0; i < 5; i++) await ask()
  t.equal(written.length, 1)
  now += 60_000
  await ask()
  t.match(written[1], /the plan of a key is not in the configuration/)
  t.match(json(written[1] ?? ''), { plan: 'pro', unsaid: 4 })
})

t.test('a key that is not sent as one Bearer is told what to write', async (t) => {
  const { call, key } = await startGateway(t)
  const { token } = await key()
  const sentence = /^Write your API key after the word Bearer, in one header/
  for (const authorization of [
    token,
    newToken(newKeyId()),
    'a key of another gateway',
    `Basic ${token}`,
    `Token ${token}`,
    `Bearer: ${token}`,
    `Bearer "${token}"`,
  ]) {
    const answer = await call('GET', '/v1/pets', undefined, { authorization })
    isRefused(t, answer, 401, 'invalid_api_key')
    t.match(json(answer)['message'], sentence, authorization)
  }
  const mistyped = await call('GET', '/v1/pets', undefined, { authorization: `Bearer ${token}x` })
  t.equal(json(mistyped)['message'], 'The API key is not valid.')
})
