import type { ChainableCommander } from 'ioredis'
import t, { type Test } from 'tap'
import { startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { start } from '../support/operator.ts'
import { startRedis } from '../support/redis.ts'
import { pause } from '../support/traffic.ts'

// Whoever may use a Redis may write anything to it. No value and no message ends a gateway, or keeps it from serving
// once the value is gone.

const { client: redis, url: redisUrl } = await startRedis(t)
const upstream = await startUpstream(t)
const gateway = await start(t, {
  upstream: upstream.url,
  store: `redis: "${redisUrl}", prefix: "t:"`,
  more: `plans: { p: { perMinute: 100000, perDay: 1000000 }, q: { perMinute: 2, perDay: 10 } }
strangers: { perMinute: 100000, perDay: 1000000 }
bans: { strikes: 3, within: 1m }`,
})
const call = caller(gateway.url)
const kept = await gateway.key({ plan: 'p', name: 'Kept' })
const full = await gateway.key({ plan: 'q', name: 'Full' })

/** A key that an operator makes. */
let id = ''

/** Makes values of every kind, and gives the messages that gateways publish meanwhile. */
async function happen(): Promise<Record<string, Set<string>>> {
  const messages: Record<string, Set<string>> = {}
  const listener = redis.duplicate()
  listener.on('pmessage', (_pattern: string, channel: string, text: string) => {
    ;(messages[channel] ??= new Set()).add(text)
  })
  await listener.psubscribe('*')
  for (let i = 0; i < 6; i++) await call('GET', '/v1/pets', undefined, full)
  await call('GET', '/v1/pets', undefined, kept)
  await call('GET', '/v1/pets', undefined, { authorization: 'Bearer nobody' })
  const made = json(await gateway.ask('POST', '/admin/keys', { name: 'Another', plan: 'p' }))
  id = String(made['id'])
  await gateway.ask('PATCH', `/admin/keys/${id}`, { name: 'Renamed' })
  await gateway.ask('GET', '/admin/requests/some-request')
  await gateway.run('explain', 'some-request')
  await gateway.run('ban', 'Kept', '1m')
  await gateway.run('unban', 'Kept')
  await pause(4_500)
  listener.disconnect()
  return messages
}

const oddities: readonly unknown[] = [
  ...[
    null,
    true,
    -1,
    1e308,
    '',
    'text',
    '9'.repeat(400),
    [],
    [null],
    {},
    { toString: 1, valueOf: 1 },
  ],
]

/** A text with each member of its JSON replaced by each oddity, and shorter forms of it. */
function variantsOf(text: string): string[] {
  const broken = ['', ' ', text.slice(1), text.slice(0, -1), `${text}${text}`, `0 ${text}`]
  const start = text.search(/[[{]/)
  if (start < 0) return [...broken, ...oddities.map((odd) => JSON.stringify(odd))]
  try {
    const value = JSON.parse(text.slice(start)) as Record<string, unknown>
    const variants = Object.keys(value).flatMap((name) =>
      oddities.map((odd) =>
        JSON.stringify(
          Array.isArray(value) ? value.with(Number(name), odd) : { ...value, [name]: odd },
        ),
      ),
    )
    const whole = oddities.map((odd) => JSON.stringify(odd))
    return [...broken, ...[...variants, ...whole].map((json) => text.slice(0, start) + json)]
  } catch {
    return broken
  }
}

/** Calls what reads the store; the gateway, in this process, must answer each with a status of its own, and throw nothing. */
async function useAll(t: Test, about: string): Promise<void> {
  const statuses = [
    (await call('GET', '/v1/pets', undefined, kept)).status,
    (await call('GET', '/v1/pets', undefined, full)).status,
    (await call('GET', '/v1/quota', undefined, kept)).status,
    (await call('GET', '/v1/pets', undefined, { authorization: 'Bearer nobody' })).status,
  ]
  t.ok(
    statuses.every((status) => [200, 401, 403, 429, 503].includes(status)),
    `${about}: callers get ${statuses.join(', ')}`,
  )
  const paths = [
    ...[
      'keys',
      `keys/${id}`,
      `keys/${id}/timeline`,
      `quota/${id}`,
      'usage',
      'ledger',
      'bans',
      'audit',
    ],
    ...[
      'gateways',
      'notices',
      'deprecations',
      'extensions',
      'requests/x',
      'shadow',
      'swaps',
      'plans/p/demand',
    ],
  ]
  for (const path of paths) await gateway.ask('GET', `/admin/${path}`)
}

const messages = await happen()

t.test('messages of any types', async (t) => {
  t.ok(Object.keys(messages).length >= 3, Object.keys(messages).join(', '))
  for (const [channel, texts] of Object.entries(messages)) {
    const variants = [...texts].flatMap(variantsOf)
    for (const variant of variants) await redis.publish(channel, variant)
    await useAll(t, `${variants.length} messages to ${channel}`)
  }
})

t.test('values of any types', async (t) => {
  const names = await redis.keys('t:*')
  t.ok(names.length >= 10, names.join(', '))
  const saved = await Promise.all(names.map((name) => redis.dumpBuffer(name)))
  const restore = async (): Promise<void> => {
    for (const [i, name] of names.entries()) {
      const value = saved[i]
      if (value) await redis.restore(name, 0, value, 'REPLACE')
    }
  }
  const places: Record<string, (by: ChainableCommander, name: string) => ChainableCommander> = {
    text: (by, name) => by.set(name, 'text'),
    object: (by, name) => by.set(name, '{"toString":1}'),
    list: (by, name) => by.rpush(name, 'x', '{}'),
    set: (by, name) => by.sadd(name, 'x'),
    hash: (by, name) => by.hset(name, 'x', 'y'),
    sorted: (by, name) => by.zadd(name, 1, 'x'),
    stream: (by, name) => by.xadd(name, '*', 'x', 'y'),
  }
  for (const [about, place] of Object.entries(places)) {
    // In one step, because a gateway may write between.
    for (const name of names) await place(redis.multi().del(name), name).exec()
    await useAll(t, `all of them a ${about}`)
    await pause(1_100)
    await useAll(t, `all of them a ${about}, a second later`)
    await restore()
  }
  for (const odd of oddities) {
    for (const [i, name] of names.entries()) {
      const kind = await redis.type(name)
      const text = typeof odd === 'string' ? odd : JSON.stringify(odd)
      if (kind === 'string') await redis.set(name, text)
      if (kind !== 'hash') continue
      const fields = await redis.hgetall(name)
      for (const [field, value] of Object.entries(fields)) {
        const variants = variantsOf(value)
        await redis.hset(
          name,
          field,
          i % 2 ? text : (variants[oddities.indexOf(odd) % variants.length] ?? text),
        )
      }
    }
    await useAll(t, `members ${JSON.stringify(odd)?.slice(0, 20)}`)
    await restore()
  }
  await pause(1_100)
  t.equal((await call('GET', '/v1/pets', undefined, kept)).status, 200)
})
