import { load, type Outcome } from './load.ts'
import { summary, type Round, type Row } from './rows.ts'
import { cpuSeconds, started, type Server, type Started } from './server.ts'

/** One thing to measure: a server, and what it is asked. */
export type Contestant = Readonly<{
  name: string
  /** Several may ask one server: it is started once. */
  server: Server
  request: (n: number) => string
  /** The status of each answer; more than a few others spoil the measurement, which says so. */
  status: number
  /** The process of the Redis that it uses. */
  redisPid?: number | undefined
  /** The contestant that does the same in another way, by name. */
  rival?: string | undefined
  /** The abilities of Tollgate that it lacks, for readers. */
  lacks?: string | undefined
  /** Left out of the picture. */
  isVariant?: boolean
}>

export type Settings = Readonly<{ rounds: number; seconds: number; connections: number }>
export type Say = (line: string) => void

/** Requests before it counts: each of 10,000 keys has been met twice by then, and code is compiled. */
const warmUp = 25_000

/** The same where a server is warm, and is asked something else. */
const furtherWarmUp = 5_000

/** How many of a hundred answers may have another status: a window may end, and begin with room. */
const mostOthers = 0.02

/** How often all are started anew: two starts of the same program may differ by a tenth for as long as they run. */
const mostStarts = 3

/**
 * Measures contestants in turn, round after round, forwards and backwards, so that a noisy minute hits all of
 * them alike. All of them run all the time; one at a time has something to do.
 */
export async function measure(
  contestants: readonly Contestant[],
  { rounds, seconds, connections }: Settings,
  progress: Say,
): Promise<Row[]> {
  const results = contestants.map((): Round[] => [])
  const starts = rounds < 9 ? 1 : mostStarts
  for (let start = 0; start < starts; start++) {
    const from = Math.round((rounds * start) / starts)
    const to = Math.round((rounds * (start + 1)) / starts)
    await measureOnce(from, to)
  }
  const roundsOf = (name: string | undefined): readonly Round[] => {
    return results[name ? contestants.findIndex((each) => each.name === name) : 0] ?? []
  }
  return contestants.map((contestant, i) => summary(contestant, results[i] ?? [], roundsOf))

  async function measureOnce(from: number, to: number): Promise<void> {
    const servers = new Map<Server, Started>()
    try {
      for (const { server, name, request } of contestants) {
        progress(name)
        const atLeast = servers.has(server) ? furtherWarmUp : warmUp
        const running = servers.get(server) ?? (await started(server))
        servers.set(server, running)
        await load({ url: running.url, connections, seconds: 0.2, atLeast, request })
      }
      const order = [...contestants.entries()]
      for (let round = from; round < to; round++) {
        progress(`round ${round + 1} of ${rounds}`)
        for (const [index, contestant] of round % 2 ? order.toReversed() : order) {
          const running = servers.get(contestant.server)
          if (!running) throw new Error(`${contestant.name} does not run`)
          results[index]?.push(await runOnce(contestant, running, seconds, connections))
        }
      }
    } finally {
      for (const { end } of servers.values()) await end()
    }
  }
}

async function runOnce(
  { name, request, status, redisPid }: Contestant,
  { url, pid }: Started,
  seconds: number,
  connections: number,
): Promise<Round> {
  const cpuNow = () => [cpuSeconds(pid), redisPid ? cpuSeconds(redisPid) : 0] as const
  let [before, redisBefore] = cpuNow()
  const opened = (): void => void ([before, redisBefore] = cpuNow())
  const outcome = await load({ url, connections, seconds, request, opened })
  const [after, redisAfter] = cpuNow()
  expectStatus(name, outcome, status)
  const micros = (seconds: number): number => (seconds / outcome.requests) * 1e6
  return {
    ...outcome,
    cpuMicros: micros(after - before),
    redisMicros: micros(redisAfter - redisBefore),
  }
}

/** Throws if more than a few answers have another status. */
export function expectStatus(name: string, { requests, statuses }: Outcome, status: number): void {
  const { [status]: asExpected = 0, ...others } = statuses
  if (asExpected >= requests * (1 - mostOthers)) return
  throw new Error(`${name} answered ${JSON.stringify(others)}, not ${status}`)
}
