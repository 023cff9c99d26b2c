import { withUsed } from '../../../gateway/contracts/counters.ts'
import type { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { newKeyId, newToken } from '../../../gateway/front/keys/token.ts'
import { startGateway, type GatewayOptions } from '../../support/gateway.ts'
import { startCluster, startRedis } from '../../support/redis.ts'
import { isRefused } from '../../support/refusals.ts'
import { until } from '../../support/until.ts'

function strangerLimits(perMinute: number | string, perDay: number | string): string {
  return `strangers: { perMinute: ${perMinute}, perDay: ${perDay} }\ntrustedProxies: [127.0.0.0/8]`
}

function sentFrom(address: string): { 'x-forwarded-for': string } {
  return { 'x-forwarded-for': address }
}

/** A gateway, and strangers that ask it. */
async function startOne(t: Test, options: GatewayOptions) {
  const gateway = await startGateway(t, options)
  const { strangers } = gateway.app.front
  /** Asks as often, one after the other, and counts the statuses. */
  const ask = async (address: string, times: number) => {
    const statuses: Record<number, number> = {}
    for (let i = 0; i < times; i++) {
      const { status } = await gateway.call('GET', '/v1/pets', undefined, sentFrom(address))
      statuses[status] = (statuses[status] ?? 0) + 1
    }
    return statuses
  }
  const used = (address: string) => withUsed(strangers.standing(address).decision).minuteUsed
  const usedOfDay = (address: string) => withUsed(strangers.standing(address).decision).dayUsed
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
      /** How many scripts some tokens of a stranger cost. */
      const costOf = async (token: () => string, tokens = 100) => {
        const before = await scripts()
        for (let i = 0; i < tokens; i++) t.equal(await status(token()), 429)
        return (await scripts()) - before
      }
      // Until the gateway has read which keys there are, it asks for everything.
      await until(async () => (await costOf(() => newToken(newKeyId()), 30)) < 3)
      const invented = await costOf(() => newToken(newKeyId()))
      const ofAKey = await costOf(() => newToken(victim.key.id))
      t.comment(
        `100 tokens with invented ids cost ${invented} scripts, with the id of a key ${ofAKey}`,
      )
      // Usage is written down meanwhile, once a second.
      t.ok(invented < 10, 'the control')
      t.ok(ofAKey < 10)
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
      t.strictSame(await second.ask('2001:db8::2', 100), { 401: 7, 429: 93 }, 'of one /64')
      await until(() => haveCome(clients, 20))
      t.strictSame(await first.ask('2001:db8::1', 1), { 401: 1 }, 'nobody has told it yet')
      await until(() => first.used('2001:db8::1') === 21)
      const told = await callsOf(clients)
      const over = await first.call('GET', '/v1/pets', undefined, sentFrom('2001:db8::1'))
      isRefused(t, over, 429, 'too_many_failed_attempts')
      t.match(over.headers, { 'x-ratelimit-remaining': '0', 'retry-after': '30' })
      t.strictSame(await first.ask('2001:db8::1', 100), { 429: 100 })
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
})
