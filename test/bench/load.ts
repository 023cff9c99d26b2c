import { openConnection, type Connection } from './wire.ts'

export type Load = Readonly<{
  /** Where to; of several, each takes an equal part of the connections. */
  url: string | readonly string[]
  connections: number
  seconds: number
  /** Goes on until this number of requests is answered. */
  atLeast?: number
  /** Is called when all connections are open, before the first request: opening them isn't measured. */
  opened?: () => void
  /** The bytes of the n-th request. */
  request: (n: number) => string
}>

export type Outcome = Readonly<{
  requests: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  p999Ms: number
  /** How many answers had which status. */
  statuses: Readonly<Record<string, number>>
}>

/**
 * Keeps a number of keep-alive connections busy for a time, each with one request in flight. Written
 * on bare sockets because it shares the machine with what it measures, and must cost little.
 */
export async function load(about: Load): Promise<Outcome> {
  const { connections, seconds, atLeast = 0, request } = about
  const urls = [about.url].flat()
  const times: number[] = []
  const statuses: Record<string, number> = {}
  let until = 0
  let n = 0

  /** Opens a connection; the function that is given back keeps it busy. */
  const open = async (url: string): Promise<() => Promise<void>> => {
    let sentAt = 0
    let end = (): void => undefined
    const next = (connection: Connection): void => {
      sentAt = performance.now()
      if (sentAt < until || n < atLeast) return connection.send(request(n++))
      connection.end()
      end()
    }
    const connection = await openConnection(url, (status, connection) => {
      statuses[status] = (statuses[status] ?? 0) + 1
      times.push(performance.now() - sentAt)
      next(connection)
    })
    return () =>
      new Promise((resolve) => {
        end = resolve
        next(connection)
      })
  }

  // This process never sleeps while it measures: waking a sleeping processor at every answer would
  // be charged to the server (a list of 20 read 63 µs instead of 45 on a virtual machine).
  let busy = true
  const stayAwake = (): void => void (busy && setImmediate(stayAwake))
  stayAwake()
  const all = await Promise.all(
    Array.from({ length: connections }, (_, i) => open(urls[i % urls.length] ?? '')),
  )
  about.opened?.()
  const started = performance.now()
  until = started + seconds * 1000
  await Promise.all(all.map((keepBusy) => keepBusy()))
  busy = false
  return outcome(times, (performance.now() - started) / 1000, statuses)
}

/** The value below which a share of sorted values lies. */
export function shareOf(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? NaN
}

/** How many times their median nine of ten values are at most; 1 of none. */
export function spreadOf(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort()
  return sorted.length > 0 ? shareOf(sorted, 0.9) / shareOf(sorted, 0.5) : 1
}

export function outcome(
  times: number[] | Float64Array,
  seconds: number,
  statuses: Outcome['statuses'],
): Outcome {
  const sorted = Float64Array.from(times).sort()
  return {
    requests: sorted.length,
    perSecond: sorted.length / seconds,
    p50Ms: shareOf(sorted, 0.5),
    p99Ms: shareOf(sorted, 0.99),
    p999Ms: shareOf(sorted, 0.999),
    statuses,
  }
}
