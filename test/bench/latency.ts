import { contestantsOf, steady } from './contestants.ts'
import { load } from './load.ts'
import { expectStatus, type Contestant, type Say, type Settings } from './measure.ts'
import { openLoad, type OpenOutcome } from './open-load.ts'
import { median } from './rows.ts'
import { started, type Started } from './server.ts'
import { withStage, type Stage } from './stage.ts'
import { tableOf, whole } from './tables.ts'

/** Shares of a contestant's capacity at which it is asked. */
const levels = [0.2, 0.5, 0.8]

/** More than are ever busy: a request that finds none free would wait in the load. */
const openConnections = 256

const warmUp = 25_000

type Quantiles = Readonly<{ p50Ms: number; p99Ms: number; p999Ms: number }>

export type LatencyRow = Readonly<{
  name: string
  /** The share of its capacity. */
  level: number
  perSecond: number
  /** A call to the backend itself at the same rate, and what the contestant adds to it. */
  direct: Quantiles
  added: Quantiles
  /** How late the load itself sent its requests: p99. */
  lateMs: number
}>

/** Measures the latency that each adds to a direct call, at steady rates. */
export async function benchLatency(
  settings: Settings,
  say: Say,
  progress: Say,
): Promise<readonly LatencyRow[]> {
  let rows: readonly LatencyRow[] = []
  await withStage(async (stage) => {
    const all = contestantsOf(stage, false)
    const contestants = steady.flatMap((name) => all.find((each) => each.name === name) ?? [])
    rows = await measureAll(contestants, stage, settings, progress)
  })
  say(`\n${latencyTable(rows)}`)
  return rows
}

async function measureAll(
  contestants: readonly Contestant[],
  stage: Stage,
  settings: Settings,
  progress: Say,
): Promise<LatencyRow[]> {
  const running: Started[] = []
  try {
    for (const { name, server, request } of contestants) {
      progress(name)
      const one = await started(server)
      running.push(one)
      const { connections } = settings
      await load({ url: one.url, connections, seconds: 0.2, atLeast: warmUp, request })
    }
    const rounds: LatencyRow[][] = []
    for (let round = 0; round < settings.rounds; round++) {
      progress(`round ${round + 1} of ${settings.rounds}`)
      const byLevel = levels.map((): LatencyRow[] => [])
      for (const [i, contestant] of contestants.entries()) {
        const url = running[i]?.url ?? ''
        const capacity = await capacityOf(url, contestant, settings)
        for (const [j, level] of levels.entries()) {
          const at = { url, level, perSecond: capacity * level }
          byLevel[j]?.push(await rowOf(contestant, at, stage, settings))
        }
      }
      rounds.push(byLevel.flat())
    }
    const roundsOf = (i: number): LatencyRow[] => rounds.flatMap((rows) => rows[i] ?? [])
    return (rounds[0] ?? []).map((row, i) => medians(row, roundsOf(i)))
  } finally {
    for (const { end } of running) await end()
  }
}

/**
 * How many requests a second it takes on connections that are always busy. It is measured in each round: a machine that is
 * shared has other speeds at other times, and half of yesterday's capacity may be more than all of today's.
 */
async function capacityOf(
  url: string,
  { request }: Contestant,
  { connections, seconds }: Settings,
): Promise<number> {
  const { perSecond } = await load({ url, connections, seconds: seconds * 2, request })
  return perSecond
}

async function rowOf(
  { name, request, status }: Contestant,
  { url, level, perSecond }: { url: string; level: number; perSecond: number },
  { upstream }: Stage,
  { seconds }: Settings,
): Promise<LatencyRow> {
  const at = (url: string): Promise<OpenOutcome> =>
    openLoad({ url, connections: openConnections, seconds: seconds * 4, perSecond, request })
  const direct = await at(upstream)
  const through = await at(url)
  expectStatus(name, through, status)
  const added = byQuantile((each) => through[each] - direct[each])
  return { name, level, perSecond, direct, added, lateMs: through.lateMs }
}

function medians(first: LatencyRow, rounds: readonly LatencyRow[]): LatencyRow {
  const of = (pick: (row: LatencyRow) => number): number => median(rounds.map(pick))
  return {
    ...first,
    perSecond: of(({ perSecond }) => perSecond),
    direct: byQuantile((each) => of(({ direct }) => direct[each])),
    added: byQuantile((each) => of(({ added }) => added[each])),
    lateMs: of(({ lateMs }) => lateMs),
  }
}

function byQuantile(valueOf: (name: keyof Quantiles) => number): Quantiles {
  return { p50Ms: valueOf('p50Ms'), p99Ms: valueOf('p99Ms'), p999Ms: valueOf('p999Ms') }
}

function latencyTable(rows: readonly LatencyRow[]): string {
  const ms = (value: number): string => value.toFixed(2)
  return tableOf(rows, [
    ['added to a direct call', ({ name }) => name],
    ['of its capacity', ({ level }) => `${level * 100} %`],
    ['requests/s', ({ perSecond }) => whole(perSecond)],
    ['p50 ms', ({ added }) => ms(added.p50Ms)],
    ['p99 ms', ({ added }) => ms(added.p99Ms)],
    ['p99.9 ms', ({ added }) => ms(added.p999Ms)],
    [
      'direct: p50, p99, p99.9 ms',
      ({ direct }) => [direct.p50Ms, direct.p99Ms, direct.p999Ms].map(ms).join(', '),
    ],
    ['sent late: p99 ms', ({ lateMs }) => ms(lateMs)],
  ])
}
