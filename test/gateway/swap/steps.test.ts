import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RedisSettings, SwapSettings } from '../../../gateway/front/config/config.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedDocuments } from '../../../gateway/front/stores/embedded/documents.ts'
import { connect } from '../../../gateway/front/stores/redis/connect.ts'
import { redisDocuments } from '../../../gateway/front/stores/redis/documents.ts'
import type { SwapProgress } from '../../../gateway/front/swaps/progress.ts'
import { reasonToGoBack } from '../../../gateway/front/swaps/judge.ts'
import { RoundCounts, sumOf } from '../../../gateway/front/swaps/side-counts.ts'
import { swapsOn } from '../../../gateway/front/swaps/store.ts'
import { Swap } from '../../../gateway/front/swaps/swap.ts'
import { swapStoreContract } from '../../contracts/swaps.ts'
import { startGateway, type Gateway } from '../../support/gateway.ts'
import { startCluster, startRedis } from '../../support/redis.ts'
import {
  isAt,
  isBack,
  startCallers,
  startSides,
  swapOf,
  unlimitedPlan,
  type Asked,
  type Side,
  type Sides,
} from '../../support/sides.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

void swapStoreContract(t, 'embedded, in a SQLite file', (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const [one, other] = [openGatewayFile(file), openGatewayFile(file)]
  t.teardown(() => [one, other].forEach((database) => database.close()))
  return Promise.resolve({
    first: swapsOn(embeddedDocuments(one, Date.now)),
    second: swapsOn(embeddedDocuments(other, Date.now)),
  })
})

async function viewsIn(t: Test, settings: RedisSettings) {
  const connections = [1, 2].map(() => connect(settings, { timeoutMs: 5_000, patient: true }))
  t.teardown(() => connections.forEach((connection) => connection.disconnect()))
  const [first, second] = connections.map((connection) =>
    swapsOn(redisDocuments({ connection, prefix: 'test:', timeoutMs: 5_000 })),
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

t.test('callers of a step', (t) => {
  const settings: SwapSettings = {
    ...{ to: [], steps: [1, 10, 50], everyMs: 1, methods: ['GET'] },
    back: { errors: 0.01, slower: 2, after: 1, callers: 3 },
  }
  const swap = new Swap({ upstream: 'animals', id: 'x' }, settings)
  const progress: SwapProgress = {
    ...{ state: 'moving', step: 0, from: -1, isPaused: false, sinceMs: 0, round: 1 },
  }
  const ids = Array.from({ length: 1_000 }, (_none, i) => `k${String(i).padStart(11, '0')}`)
  const leadAt = (step: number, method = 'GET'): string[] => {
    swap.follow({ nowMs: 0, version: step + 1, progress: { ...progress, step }, counts: [] })
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
  const text = new RoundCounts().toText()
  const damaged = [
    'nonsense',
    '[1,2]',
    '{}',
    text.replace('"requests":0', '"requests":-9'),
    `[${text}]`,
  ]
  const other = new RoundCounts()
  other.new.add('c', false, 10, 5)
  const sum = sumOf([...damaged, other.toText(), ...damaged])
  t.strictSame([sum.old.requests, sum.new.requests], [0, 1], 'what is damaged counts nothing')
  t.end()
})

const quick = 'steps: [20, 50], every: 300ms, back: { after: 30, slower: 100 }'

async function startFour(t: Test, { old, next }: Sides, swap = quick): Promise<Gateway[]> {
  const redis = await startRedis(t)
  return Promise.all(
    Array.from({ length: 4 }, () =>
      startGateway(t, {
        ...{ upstream: old.upstream, store: `redis: "${redis.url}"`, more: unlimitedPlan },
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
      t.match(swapOf(first).progress?.why, /new side/)
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

t.test('a gateway that starts again goes on where the swap was', async (t) => {
  const { old, next } = await startSides(t)
  const store = `file: ${join(folderOf(t), 'gateway.db')}`
  const swap = 'steps: [20, 50], every: 200ms, back: { after: 20, slower: 100 }'
  const options = {
    ...{ upstream: old.upstream, store, more: unlimitedPlan },
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
