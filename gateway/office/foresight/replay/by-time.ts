import type { LogPiece } from './log-file.ts'
import type { LoggedRequest } from './logged-request.ts'

/** A request may be decided this long before lines above its own: a line comes at the end of its answer. */
export const windowMs = 30_000

/** The most requests that wait for earlier ones. */
const mostWaiting = 100_000

/** Requests wait at least until there are this many, because sorting costs less for many at once. */
const leastSorted = 20_000

/**
 * The requests of several logs in the order of their time, piece by piece. It reads on in the log that is furthest
 * behind, and holds back what may still be preceded: at most twice `mostWaiting`, however long the logs are.
 */
export async function* byTime(
  logs: readonly AsyncIterator<LogPiece, void>[],
): AsyncGenerator<readonly LoggedRequest[], void> {
  let open = logs.map((log) => ({ log, newestMs: -Infinity }))
  let waiting: LoggedRequest[] = []
  let sortAt = leastSorted
  while (open.length > 0) {
    const behind = open.reduce((one, other) => (other.newestMs < one.newestMs ? other : one))
    const { value: piece } = await behind.log.next()
    if (piece) {
      for (const request of piece) {
        waiting.push(request)
        if (request.endMs > behind.newestMs) behind.newestMs = request.endMs
      }
    } else open = open.filter((each) => each !== behind)
    if (waiting.length < sortAt && open.length > 0) continue
    waiting.sort(inOrder)
    const untilMs = open.reduce((least, { newestMs }) => Math.min(least, newestMs), Infinity)
    const due = Math.max(
      countUntil(waiting, untilMs - windowMs),
      open.length > 0 ? waiting.length - mostWaiting : 0,
    )
    yield waiting.slice(0, due)
    waiting = waiting.slice(due)
    sortAt = Math.max(leastSorted, 2 * waiting.length)
  }
}

function countUntil(sorted: readonly LoggedRequest[], untilMs: number): number {
  const first = sorted.findIndex(({ orderMs }) => orderMs > untilMs)
  return first < 0 ? sorted.length : first
}

/**
 * Within a millisecond the points used tell which request of a quota came first. With the same points it is first admitted,
 * then refused, then banned, the dearest first: a cheap one may have had room, and one for nothing bans no key. Others stay
 * in the order of their lines.
 */
function inOrder(a: LoggedRequest, b: LoggedRequest): number {
  return a.orderMs - b.orderMs || a.usedInShortest - b.usedInShortest || rank(a) - rank(b)
}

function rank({ verdict, cost }: LoggedRequest): number {
  if (verdict !== 'banned') return verdict === 'refused' ? 1 : 0
  return 2 + 1 / (1 + cost)
}
