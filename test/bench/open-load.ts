import { outcome, shareOf, type Load, type Outcome } from './load.ts'
import { openConnection, type Connection } from './wire.ts'

export type OpenLoad = Omit<Load, 'url' | 'atLeast'> & Readonly<{ url: string; perSecond: number }>

export type OpenOutcome = Outcome &
  Readonly<{
    /** How late this process itself sent requests (p99), which is part of the latencies. */
    lateMs: number
  }>

/** When the n-th request of a steady rate is due, in milliseconds from the first. */
export function dueMs(n: number, perSecond: number): number {
  return (n * 1000) / perSecond
}

/**
 * Sends requests at a steady rate, each when it is due, whether or not answers have come. Latencies
 * count from that moment: a request that waits for a free connection, or for this process, is late.
 */
export async function openLoad(about: OpenLoad): Promise<OpenOutcome> {
  const { url, connections, seconds, perSecond, request } = about
  const total = Math.ceil(perSecond * seconds)
  const times = new Float64Array(total)
  const late = new Float64Array(total)
  const statuses: Record<string, number> = {}
  const asked = new Map<Connection, number>()
  let [next, answered, started] = [0, 0, 0]
  let allAreBusy = false
  const free = await Promise.all(
    Array.from({ length: connections }, () =>
      openConnection(url, (status, connection) => {
        const n = asked.get(connection) ?? 0
        times[n] = performance.now() - started - dueMs(n, perSecond)
        statuses[status] = (statuses[status] ?? 0) + 1
        answered++
        free.push(connection)
      }),
    ),
  )
  const all = [...free]
  started = performance.now()
  await new Promise<void>((resolve) => {
    // Looks at the clock in each turn: timers have a resolution of a millisecond.
    const turn = (): void => {
      for (; next < total; next++) {
        const lateMs = performance.now() - started - dueMs(next, perSecond)
        const isDue = lateMs >= 0
        const connection = isDue ? free.pop() : undefined
        if (!connection) {
          allAreBusy = isDue
          break
        }
        late[next] = allAreBusy ? 0 : lateMs
        asked.set(connection, next)
        connection.send(request(next))
      }
      if (answered < total) setImmediate(turn)
      else resolve()
    }
    turn()
  })
  for (const connection of all) connection.end()
  const took = (performance.now() - started) / 1000
  return { ...outcome(times, took, statuses), lateMs: shareOf(late.sort(), 0.99) }
}
