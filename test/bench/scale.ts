import type { Redis } from 'ioredis'
import { somePort, startCluster } from '../support/redis.ts'
import { addKeys } from './callers.ts'
import { load } from './load.ts'
import { expectStatus, type Say, type Settings } from './measure.ts'
import { lend } from './redis.ts'
import { median } from './rows.ts'
import { cpuSeconds, started, type Started } from './server.ts'
import { withStage, type Stage } from './stage.ts'
import { markdown, tableOf, whole } from './tables.ts'

/** Gateways of one process each, and gateways with several workers. */
const shapes = [
  { name: '1 gateway', gateways: 1, workers: 1 },
  { name: '2 gateways', gateways: 2, workers: 1 },
  { name: '4 gateways', gateways: 4, workers: 1 },
  { name: '1 gateway, 2 workers', gateways: 1, workers: 2 },
  { name: '1 gateway, 4 workers', gateways: 1, workers: 4 },
]

/** All are started this often at most, in turn, so that a noisy minute hits all of them alike. */
const mostStarts = 3

/** Requests before it counts, for each process. */
const warmUp = 10_000

/** How busy a core may be in the plan. */
const mostBusy = 0.7

const planned = [10_000, 50_000, 100_000, 500_000]

type Store = Readonly<{ name: string; store: string; pids: readonly number[] }>
type Round = Readonly<{ gatewayMicros: number; redisMicros: number; perSecond: number }>
type Scale = Round & Readonly<{ name: string; store: string }>

/** Measures a forwarded request of several gateways that share a Redis, or a Cluster. */
export async function benchScale(
  settings: Settings,
  say: Say,
  progress: Say,
): Promise<readonly Scale[]> {
  let all: readonly Scale[] = []
  await withStage((stage) =>
    lend(async (t) => {
      const { nodes, clients } = await startCluster(t)
      const cluster = nodes.map((node) => `"${node}"`).join(', ')
      const { url, client } = stage.redis
      const stores: Store[] = [
        await storeOf('one Redis', `redis: "${url}"`, [client]),
        await storeOf('a Cluster of 3', `redis: { cluster: [ ${cluster} ] }`, clients),
      ]
      all = await measureAll(stores, stage, settings, progress)
    }),
  )
  say(`\n${scaleTable(all)}\n\n${planTable(all)}`)
  return all
}

async function storeOf(name: string, store: string, clients: readonly Redis[]): Promise<Store> {
  const pids = clients.map(async (client) => {
    return Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1])
  })
  return { name, store, pids: await Promise.all(pids) }
}

async function measureAll(
  stores: readonly Store[],
  stage: Stage,
  settings: Settings,
  progress: Say,
): Promise<Scale[]> {
  for (const { name, store } of stores) {
    await stage.gateway(name, { store }).within((stores) => addKeys(stores, stage.tokens))
  }
  const all = stores.flatMap((store) => {
    return shapes.map((shape) => ({ store, shape, rounds: [] as Round[] }))
  })
  const starts = Math.min(mostStarts, settings.rounds)
  for (let start = 0; start < starts; start++) {
    for (const { store, shape, rounds } of all) {
      progress(`${store.name}, ${shape.name}: start ${start + 1} of ${starts}`)
      rounds.push(
        ...(await roundsOf(shape, store, stage, {
          ...settings,
          rounds: Math.ceil(settings.rounds / starts),
        })),
      )
    }
  }
  return all.map(({ store, shape, rounds }) => ({
    name: shape.name,
    store: store.name,
    gatewayMicros: median(rounds.map(({ gatewayMicros }) => gatewayMicros)),
    redisMicros: median(rounds.map(({ redisMicros }) => redisMicros)),
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
  }))
}

async function roundsOf(
  { name, gateways, workers }: (typeof shapes)[number],
  { name: storeName, store, pids }: Store,
  { gateway, known: request }: Stage,
  settings: Settings,
): Promise<Round[]> {
  // Workers share each port that they ask for as 0, the leader's admin port with the others' own.
  const adminPort = workers > 1 ? await somePort() : 0
  const { server } = gateway(`${storeName}, ${name}`, { store, workers, adminPort })
  const running: Started[] = []
  const rounds: Round[] = []
  try {
    while (running.length < gateways) running.push(await started(server))
    const url = running.map(({ url }) => url)
    const connections = settings.connections * gateways * workers
    const atLeast = warmUp * gateways * workers
    await load({ url, connections, seconds: 0.2, atLeast, request })
    const seconds = settings.seconds * 2
    const cpuOf = (pids: readonly (number | undefined)[]): number =>
      pids.reduce((sum: number, pid) => sum + cpuSeconds(pid), 0)
    const own = running.map(({ pid }) => pid)
    for (let round = 0; round < settings.rounds; round++) {
      const before = { own: cpuOf(own), redis: cpuOf(pids) }
      const outcome = await load({ url, connections, seconds, request })
      expectStatus(name, outcome, 200)
      rounds.push({
        gatewayMicros: ((cpuOf(own) - before.own) * 1e6) / outcome.requests,
        redisMicros: ((cpuOf(pids) - before.redis) * 1e6) / outcome.requests,
        perSecond: outcome.perSecond,
      })
    }
  } finally {
    for (const { end } of running) await end()
  }
  return rounds
}

function scaleTable(all: readonly Scale[]): string {
  return tableOf(all, [
    ['measured', ({ store, name }) => `${store}, ${name}`],
    ['gateways, CPU µs a request', ({ gatewayMicros }) => gatewayMicros.toFixed(1)],
    ['Redis, CPU µs', ({ redisMicros }) => redisMicros.toFixed(1)],
    ['computed: decisions/s of a core of Redis', ({ redisMicros }) => whole(1e6 / redisMicros)],
  ])
}

/** The cores that a number of requests a second takes, from the dearest shape of each store. */
function planTable(all: readonly Scale[]): string {
  const stores = [...new Set(all.map(({ store }) => store))]
  const cores = (store: string, perSecond: number, micros: (row: Scale) => number): string => {
    const dearest = Math.max(...all.filter((row) => row.store === store).map(micros))
    return String(Math.ceil((perSecond * dearest) / 1e6 / mostBusy))
  }
  return markdown(
    [
      'computed: requests/s',
      ...stores.flatMap((store) => [`${store}: cores of gateways`, 'of Redis']),
    ],
    planned.map((perSecond) => [
      whole(perSecond),
      ...stores.flatMap((store) => [
        cores(store, perSecond, ({ gatewayMicros }) => gatewayMicros),
        cores(store, perSecond, ({ redisMicros }) => redisMicros),
      ]),
    ]),
  )
}
