import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Pool } from 'undici'
import type { SwapSettings } from '../../gateway/config/config.ts'
import { parseConfig } from '../../gateway/config/load.ts'
import { embeddedSwaps } from '../../gateway/stores/embedded/swaps.ts'
import { openGatewayFile } from '../../gateway/stores/embedded/database.ts'
import { connect } from '../../gateway/stores/redis/connect.ts'
import { redisSwaps } from '../../gateway/stores/redis/swaps.ts'
import type { Course } from '../../gateway/swaps/course.ts'
import { reasonToGoBack } from '../../gateway/swaps/judge.ts'
import { RoundCounts, sumOf } from '../../gateway/swaps/side-counts.ts'
import { Swap, swapNameOf } from '../../gateway/swaps/swap.ts'
import type { SwapView } from '../../gateway/swaps/view.ts'
import type { RedisSettings } from '../../gateway/config/config.ts'
import { swapStoreContract } from '../contracts/swaps.ts'
import { startAdmin } from '../support/admin.ts'
import { configFor, startGateway, startUpstream, type Gateway } from '../support/gateway.ts'
import { json, type Call } from '../support/http.ts'
import { startRedis, startCluster } from '../support/redis.ts'
import { until } from '../support/until.ts'

void swapStoreContract(t, 'embedded, in a SQLite file', (t) => {
  const file = join(t.testdir(), 'gateway.db')
  const [one, other] = [openGatewayFile(file), openGatewayFile(file)]
  t.teardown(() => [one, other].forEach((database) => database.close()))
  return Promise.resolve({
    first: embeddedSwaps(one, Date.now),
    second: embeddedSwaps(other, Date.now),
  })
})

async function viewsIn(t: Test, settings: RedisSettings) {
  const connections = [1, 2].map(() => connect(settings, { timeoutMs: 5_000, patient: true }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  const [first, second] = connections.map((connection) =>
    redisSwaps({ connection, prefix: 'test:', timeoutMs: 5_000 }),
  )
  if (!first || !second) throw new Error('two were asked for')
  await until(() => connections.every(({ status }) => status === 'ready'))
  return { first, second }
}

void swapStoreContract(t, 'redis, a single server', async (t) =>
  viewsIn(t, { url: (await startRedis(t)).url }),
)
void swapStoreContract(t, 'redis, a Cluster', async (t) =>
  viewsIn(t, { cluster: (await startCluster(t)).nodes }),
)

const plans = 'plans: { free: { perMinute: unlimited, perDay: unlimited, bans: off } }'
const quick = 'steps: [20, 50], every: 300ms, back: { after: 30, slower: 100 }'

/** One side of a swap: answers with its name, and with what a test makes of it. */
async function startSide(t: Test, name: string) {
  const side = {
    /** The share of requests that fail, and how long an answer takes. */
    fails: 0,
    takesMs: 1,
    /** Requests of these callers fail. */
    failsFor: new Set<string>(),
    ids: [] as string[],
  }
  const upstream = await startUpstream(t, (request, response) => {
    const { 'x-request-id': id = '', 'x-caller-id': caller = '' } = request.headers
    side.ids.push(String(id))
    const isFailing = Math.random() < side.fails || side.failsFor.has(String(caller))
    response.statusCode = isFailing ? 500 : 200
    setTimeout(() => response.setHeader('x-side', name).end('{}'), side.takesMs)
  })
  return Object.assign(side, { upstream, url: upstream.url })
}

type Side = Awaited<ReturnType<typeof startSide>>
type Sides = Readonly<{ old: Side; next: Side }>

async function startSides(t: Test): Promise<Sides> {
  return { old: await startSide(t, 'old'), next: await startSide(t, 'new') }
}

type Asked = Readonly<{ caller: string; side: string; status: number; atMs: number }>

/** Callers who ask all gateways in turn, until stopped. */
async function startCallers(t: Test, gateways: readonly Gateway[], count = 40, method = 'GET') {
  const [first] = gateways
  if (!first) throw new Error('there is a gateway')
  const keys = await Promise.all(Array.from({ length: count }, () => first.key()))
  const pools = gateways.map(({ url }) => new Pool(url, { connections: 4 }))
  const asked: Asked[] = []
  let isOn = true
  const ask = async (key: (typeof keys)[number], turn: number): Promise<void> => {
    const pool = pools[turn % pools.length]
    if (!pool) throw new Error('there is a pool')
    const atMs = performance.now()
    const { headers, statusCode, body } = await pool.request({
      ...{ method: method, path: '/v1/x', headers: key.headers },
    })
    await body.dump()
    const side = String(headers['x-side'] ?? 'none')
    asked.push({ caller: key.key.id, side, status: statusCode, atMs })
  }
  const loops = Array.from({ length: 8 }, async (_none, loop) => {
    for (let turn = loop; isOn; turn += 8) {
      const key = keys[turn % keys.length]
      if (key) await ask(key, Math.floor(turn / keys.length) + turn)
      await new Promise((go) => setTimeout(go, 2))
    }
  })
  const stop = async (): Promise<void> => {
    isOn = false
    await Promise.all(loops)
    await Promise.all(pools.map((pool) => pool.close()))
  }
  t.teardown(() => (isOn ? stop() : undefined))
  return { asked, stop, keys }
}

/** No caller comes to the old side again who was at the new one, but for a way back. */
function flips(asked: readonly Asked[]): string[] {
  const atNew = new Set<string>()
  const found: string[] = []
  for (const { caller, side } of asked) {
    if (side === 'new') atNew.add(caller)
    else if (atNew.has(caller)) found.push(caller)
  }
  return found
}

function swapOf({ config, app }: Gateway): Swap {
  const settings = config.upstreams.get('animals')
  const swap = settings && app.core.swaps.see(settings)
  if (!swap) throw new Error('there is a swap')
  return swap
}

const isAt = (gateway: Gateway, step: number) => () => swapOf(gateway).stepInForce === step

/** The swap as the admin API tells it. */
async function swapSeen(ask: Call): Promise<SwapView> {
  const { animals } = json(await ask('GET', '/admin/swaps?upstream=animals'))
  return animals as SwapView
}

const isBack = (gateway: Gateway) => () => swapOf(gateway).course?.state === 'back'

async function startFour(t: Test, { old, next }: Sides, swap = quick): Promise<Gateway[]> {
  const redis = await startRedis(t)
  return Promise.all(
    Array.from({ length: 4 }, () =>
      startGateway(t, {
        ...{ upstream: old.upstream, store: `redis: "${redis.url}"`, more: plans },
        upstreamMore: `swap: { to: ["${next.url}"], ${swap} }`,
      }),
    ),
  )
}

t.test('a good side gets all callers step by step, on four gateways', async (t) => {
  const sides = await startSides(t)
  const gateways = await startFour(t, sides)
  const [first] = gateways
  if (!first) throw new Error('there is a gateway')
  const { asked, stop } = await startCallers(t, gateways)
  await until(isAt(first, 2), 30_000)
  await until(() => gateways.every((gateway) => isAt(gateway, 2)()))
  const atAll = performance.now()
  await until(() => asked.filter(({ atMs }) => atMs > atAll).length > 50)
  await stop()
  t.strictSame(new Set(asked.map(({ status }) => status)), new Set([200]), 'nothing is lost')
  t.strictSame(flips(asked), [], 'and nobody comes back')
  const after = asked.filter(({ atMs }) => atMs > atAll)
  t.ok(after.every(({ side }) => side === 'new'))
  const ids = [...sides.old.ids, ...sides.next.ids].filter((id) => id !== '')
  t.equal(new Set(ids).size, ids.length, 'each is sent once')
  const entries = await first.stores.audit.list({ fromMs: 0, limit: 100, what: 'swap.' })
  t.strictSame(
    entries.map(({ what }) => what).reverse(),
    ['swap.begin', 'swap.step', 'swap.step'],
    'one gateway of the four takes each step',
  )
})

t.test('goes back', async (t) => {
  const waysOf: Record<string, (side: Side) => void> = {
    'from a side that fails one in five': (side) => (side.fails = 0.2),
    'from a side that takes several times as long': (side) => (side.takesMs = 60),
  }
  for (const [name, spoil] of Object.entries(waysOf)) {
    await t.test(name, async (t) => {
      const sides = await startSides(t)
      sides.old.takesMs = 12
      sides.next.takesMs = 12
      const gateways = await startFour(t, sides, 'steps: [50], every: 1h, back: { after: 60 }')
      const [first] = gateways
      if (!first) throw new Error('there is a gateway')
      const { asked, stop } = await startCallers(t, gateways)
      await until(isAt(first, 0))
      spoil(sides.next)
      await until(() => gateways.every((gateway) => isBack(gateway)()), 20_000)
      const atMs = performance.now()
      await until(() => asked.filter((each) => each.atMs > atMs).length > 100)
      await stop()
      const after = asked.filter((each) => each.atMs > atMs)
      t.ok(
        after.every(({ side, status }) => side === 'old' && status === 200),
        'all of them',
      )
      t.match(swapOf(first).course?.why, /new side/)
      const [entry] = await first.stores.audit.list({ fromMs: 0, limit: 1, what: 'swap.back' })
      t.match(entry, { subject: 'animals', by: /^gateway / })
    })
  }
})

t.test('a side that refuses connections fails no GET, and is left', async (t) => {
  const sides = await startSides(t)
  const gateways = await startFour(t, sides, 'steps: [50], every: 1h, back: { after: 30 }')
  const [first] = gateways
  if (!first) throw new Error('there is a gateway')
  await until(isAt(first, 0))
  sides.next.upstream.close?.()
  const { asked, stop } = await startCallers(t, gateways)
  await until(isBack(first), 20_000)
  await stop()
  t.strictSame(new Set(asked.map(({ status }) => status)), new Set([200]))
})

t.test('the errors of one caller are no reason', async (t) => {
  const sides = await startSides(t)
  const [first, ...others] = await startFour(
    t,
    sides,
    'steps: [90], every: 1h, back: { after: 30, slower: 100 }',
  )
  if (!first) throw new Error('there is a gateway')
  await until(isAt(first, 0))
  const { keys, stop } = await startCallers(t, [first, ...others], 10)
  const unlucky = keys.find(({ key }) => swapOf(first).leads('GET', key.id))
  if (!unlucky) throw new Error('of ten callers one is in a step of 90 %')
  sides.next.failsFor.add(unlucky.key.id)
  await until(() => swapOf(first).sums.new.failures > 30, 20_000)
  await stop()
  t.ok(isAt(first, 0)(), 'its requests alone say nothing about the side')
})

t.test('a side that would break callers gets none', async (t) => {
  const { old } = await startSides(t)
  const other = await startUpstream(t, (_request, response) => {
    response.statusCode = 404
    response.end()
  })
  const upstreamMore = `swap: { to: ["${other.url}"] }, probes: [ { request: GET /v1/x } ]`
  const { gateway, ask } = await startAdmin(t, {
    ...{ upstream: old.upstream, upstreamMore, more: plans },
  })
  await until(() => swapOf(gateway).course?.state === 'refused')
  const view = await swapSeen(ask)
  t.match(view, { state: 'refused', percent: 0, why: /would break GET \/v1\/x/ })
  t.match(view?.summary, /doesn’t begin.*tollgate upstream swap resume animals$/)
  const { headers } = await gateway.key()
  t.equal((await gateway.call('GET', '/v1/x', undefined, headers)).headers['x-side'], 'old')
})

t.test('operators', async (t) => {
  const { old, next } = await startSides(t)
  const swap = `swap: { to: ["${next.url}"], steps: [50], every: 1h, methods: [GET] }`
  const { gateway, ask, operate, write } = await startAdmin(t, {
    ...{ upstream: old.upstream, upstreamMore: swap, more: plans },
  })
  const act = (verb: string) => ask('POST', `/admin/upstreams/animals/swap/${verb}`)
  await until(isAt(gateway, 0))

  await t.test('pause it and let it go on', async (t) => {
    t.match(json(await act('pause')), { state: 'paused', percent: 50 })
    t.match(json(await act('pause')), { message: /is paused already/ })
    t.match(json(await act('resume')), { state: 'moving', step: 1, missing: 100 })
    t.match(json(await act('resume')), { message: /is not paused/ })
    t.equal((await ask('POST', '/admin/upstreams/nobody/swap/pause')).status, 404)
  })

  await t.test('can’t lose it while callers are at the new side', async (t) => {
    write((text) => text.replace(`, ${swap}`, ''))
    const refused = await ask('POST', '/admin/config/reload')
    t.equal(refused.status, 409)
    t.match(refused.text, /upstreams\.animals has callers at the targets of its swap/)
    write((text) => text.replace(' } }\nroutes', `, ${swap} } }\nroutes`))
    t.match(json(await ask('POST', '/admin/config/reload')), { result: 'unchanged' })
  })

  await t.test('send all callers to the new side, with every method', async (t) => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => gateway.key()))
    const sideOf = async (method: string, i: number) =>
      (await gateway.call(method, '/v1/x', method === 'POST' ? {} : undefined, keys[i]?.headers))
        .headers['x-side']
    for (const i of keys.keys()) t.equal(await sideOf('POST', i), 'old', 'not yet')
    t.match(json(await act('finish')), { state: 'all', percent: 100 })
    await until(isAt(gateway, 1))
    for (const i of keys.keys()) {
      t.strictSame([await sideOf('GET', i), await sideOf('POST', i)], ['new', 'new'])
    }
    t.match((await operate('GET', '/metrics')).text, /^tollgate_swap_step\{.*\} 2$/m)
    t.match(json(await act('finish')), { message: /is not on its way/ })
  })

  await t.test('call it back, and begin anew by an order or by another description', async (t) => {
    t.match(json(await act('back')), { state: 'back', why: /called it back/, percent: 0 })
    await until(isBack(gateway))
    await new Promise((go) => setTimeout(go, 600))
    t.ok(isBack(gateway)(), 'not by itself')
    t.match(json(await act('resume')), { state: 'checking' })
    await until(isAt(gateway, 0))
    await act('back')
    await until(isBack(gateway))
    write((text) => text.replace('steps: [50]', 'steps: [60]'))
    t.match(json(await ask('POST', '/admin/config/reload')), { result: 'changed' })
    const settings = gateway.app.config.upstreams.get('animals')
    if (!settings) throw new Error('there is an upstream')
    await until(() => gateway.app.core.swaps.see(settings)?.stepInForce === 0)
    t.match(await swapSeen(ask), { percent: 60, step: 1 })
  })

  await t.test('end it with its targets in the file', async (t) => {
    write((text) =>
      text
        .replace(/targets: \[.*?\]/, `targets: [ "${next.url}" ]`)
        .replace(/, swap: \{.*?\} \}/, ' }'),
    )
    t.match(json(await ask('POST', '/admin/config/reload')), { result: 'changed' })
    const { headers } = await gateway.key()
    t.equal((await gateway.call('GET', '/v1/x', undefined, headers)).headers['x-side'], 'new')
    t.strictSame(json(await ask('GET', '/admin/swaps')), {})
  })
})

t.test('a gateway that starts again goes on where the swap was', async (t) => {
  const { old, next } = await startSides(t)
  const store = `file: ${join(t.testdir(), 'gateway.db')}`
  const swap = 'steps: [20, 50], every: 200ms, back: { after: 20, slower: 100 }'
  const options = {
    ...{ upstream: old.upstream, store, more: plans },
    upstreamMore: `swap: { to: ["${next.url}"], ${swap} }`,
  }
  let ids: string[] = []
  let leads: boolean[] = []
  await t.test('before', async (t) => {
    const gateway = await startGateway(t, options)
    const { stop, keys } = await startCallers(t, [gateway])
    await until(isAt(gateway, 1))
    await stop()
    ids = keys.map(({ key }) => key.id)
    leads = ids.map((id) => swapOf(gateway).leads('GET', id))
  })
  const gateway = await startGateway(t, options)
  t.ok(isAt(gateway, 1)(), 'known before the first request')
  t.strictSame(
    ids.map((id) => swapOf(gateway).leads('GET', id)),
    leads,
  )
})

t.test('callers of a step', (t) => {
  const settings: SwapSettings = {
    ...{ to: [], steps: [1, 10, 50], everyMs: 1, methods: ['GET'] },
    back: { errors: 0.01, slower: 2, after: 1, callers: 3 },
  }
  const swap = new Swap({ upstream: 'animals', id: 'x' }, settings)
  const course: Course = {
    ...{ state: 'moving', step: 0, from: -1, isPaused: false, sinceMs: 0, round: 1 },
  }
  const ids = Array.from({ length: 1_000 }, (_none, i) => `k${String(i).padStart(11, '0')}`)
  const leadAt = (step: number, method = 'GET'): string[] => {
    swap.follow({ nowMs: 0, version: step + 1, course: { ...course, step }, counts: [] })
    return ids.filter((id) => swap.leads(method, id))
  }
  const [one, ten, fifty, all] = [0, 1, 2, 3].map((step) => leadAt(step))
  t.ok(Math.abs((ten?.length ?? 0) - 100) <= 30, `${ten?.length} of 1,000 at 10 %`)
  t.ok(Math.abs((fifty?.length ?? 0) - 500) <= 60, `${fifty?.length} of 1,000 at 50 %`)
  t.ok(one?.every((id) => ten?.includes(id)) && ten?.every((id) => fifty?.includes(id)))
  t.equal(all?.length, 1_000)
  t.equal(leadAt(2, 'POST').length, 0, 'methods that stay')
  t.equal(leadAt(3, 'POST').length, 1_000, 'until all are there')
  t.end()
})

t.test('what is judged', (t) => {
  const back = { errors: 0.01, slower: 2, after: 100, callers: 3 }
  type Made = Readonly<{ requests: number; failures?: number; ms?: number; callers?: number }>
  const judge = (old: Made, next: Made): string | undefined => {
    const counts = new RoundCounts()
    for (const [side, { requests, failures = 0, ms = 10, callers = 10 }] of [
      [counts.old, old],
      [counts.new, next],
    ] as const) {
      for (let i = 0; i < requests; i++) side.add(`c${i % callers}`, i < failures, ms, back.callers)
    }
    return reasonToGoBack(sumOf([counts.toText()]), undefined, back)
  }
  t.equal(judge({ requests: 900 }, { requests: 99, failures: 99 }), undefined, 'too few yet')
  t.match(judge({ requests: 900 }, { requests: 100, failures: 3 }), '3 % of 100 requests')
  t.equal(judge({ requests: 900, failures: 27 }, { requests: 100, failures: 3 }), undefined)
  t.equal(judge({ requests: 900 }, { requests: 100, failures: 1 }), undefined, 'not above 1 %')
  t.equal(judge({ requests: 900 }, { requests: 1_000, failures: 2 }), undefined)
  const ofTwo = judge({ requests: 900 }, { requests: 100, failures: 9, callers: 2 })
  t.match(ofTwo, '9 % of 100', 'where a step has fewer callers, all of them count')
  t.match(judge({ requests: 900, ms: 20 }, { requests: 100, ms: 60 }), /^95 % of the answers/)
  t.equal(judge({ requests: 900, ms: 20 }, { requests: 100, ms: 30 }), undefined)
  t.equal(judge({ requests: 900, ms: 1 }, { requests: 100, ms: 4 }), undefined, 'by 3 ms')
  t.strictSame(sumOf(['nonsense', '[1,2]', '{}']).new.requests, 0, 'what is damaged counts nothing')
  t.end()
})

t.test('30 requests an hour: it stays, and says what it waits for', async (t) => {
  const { old, next } = await startSides(t)
  let now = Date.now()
  const swap = `swap: { to: ["${next.url}"], steps: [100], every: 5m }`
  const options = { upstream: old.upstream, upstreamMore: swap, more: plans, clock: () => now }
  const { gateway, ask } = await startAdmin(t, options)
  await until(() => swapOf(gateway).course?.state === 'moving')
  now += 2_000
  await until(isAt(gateway, 0))
  const { headers } = await gateway.key()
  for (let i = 0; i < 30; i++) await gateway.call('GET', '/v1/x', undefined, headers)
  now += 3_600_000
  await until(() => swapOf(gateway).sums.new.requests === 30)
  const view = await swapSeen(ask)
  t.match(view, { state: 'moving', step: 1, missing: 70, new: { requests: 30, failures: 0 } })
  t.match(view?.summary, /waits for more: the new side was asked 30 of 100 requests/)
})

t.test('descriptions that can’t be followed are refused', (t) => {
  const mistakesOf = (swap: string): string => {
    try {
      const upstreamMore = `swap: ${swap}`
      parseConfig(configFor('http://a.test', 'file: x.db', { upstreamMore }), {}, 'x.yaml')
      return ''
    } catch (error) {
      return String(error)
    }
  }
  const to = 'to: ["http://b.test"]'
  t.equal(mistakesOf(`{ ${to} }`), '')
  for (const [swap, sentence] of [
    [`{ ${to}, steps: [10, 10] }`, /steps\[1\] must be above the step before, which is 10/],
    [`{ ${to}, steps: [50, 20] }`, /steps\[1\] must be above/],
    [`{ ${to}, steps: [10, 101] }`, /a percentage above 0 and up to 100/],
    [`{ ${to}, steps: [0] }`, /a percentage above 0/],
    [`{ ${to}, steps: [] }`, /a list of rising percentages/],
    [`{ ${to}, back: { errors: 101% } }`, /a share such as 1%/],
    [`{ ${to}, back: { errors: 5 } }`, /a share such as 1%/],
    [`{ ${to}, back: { slower: 1 } }`, /a number above 1/],
    [`{ ${to}, methods: [GET, FETCH] }`, /methods\[1\]/],
    [`{ to: ["http://a.test/"] }`, /to\[0\] is one of the targets already/],
    [`{ steps: [1] }`, /to is missing|to/],
  ] as const) {
    t.match(mistakesOf(swap), sentence, swap)
  }
  t.end()
})

t.test('another description is another swap', (t) => {
  const nameOf = (swap: string) => {
    const text = configFor('http://a.test', 'file: x.db', { upstreamMore: `swap: ${swap}` })
    const upstream = parseConfig(text, {}, 'x.yaml').upstreams.get('animals')
    return upstream && swapNameOf(upstream)?.id
  }
  const name = nameOf('{ to: ["http://b.test"] }')
  t.equal(nameOf('{ to: [ { url: "http://b.test" } ], every: 5m }'), name, 'however it is written')
  t.not(nameOf('{ to: ["http://b.test"], every: 6m }'), name)
  t.end()
})
