import type { IncomingMessage } from 'node:http'
import type { Test } from 'tap'
import { startUpstream } from './gateway.ts'

/** What a limiter says to a request of now: whether it is let in, and its headers. */
export type Limiter = (nowMs: number) => Readonly<{ isAdmitted: boolean; headers?: Headers }>

type Headers = Readonly<Record<string, string | number>>

type Ways = Readonly<{
  /** Whether this admission is counted. */
  counts?: (n: number) => boolean
  /** Whether refused requests take room from the next window. */
  burns?: boolean
  /** The seconds by which Retry-After is too short; `undefined`: it tells none. */
  short?: number | undefined
  headersOf?: (left: number, endMs: number, nowMs: number) => Headers
}>

/** Fixed windows of a second, aligned to this machine's clock. */
export function fixedWindows(limit: number, ways: Ways = {}): Limiter {
  const { counts = () => true, burns = false, headersOf = () => ({}) } = ways
  let [number, used, debt, n] = [0, 0, 0, 0]
  return (nowMs) => {
    const present = Math.floor(nowMs / 1_000)
    if (present !== number) {
      used = burns && present === number + 1 ? Math.min(debt, limit) : 0
      number = present
      debt = 0
    }
    const isAdmitted = used < limit
    if (isAdmitted && counts(++n)) used++
    if (!isAdmitted) debt++
    const endMs = (present + 1) * 1_000
    const headers = headersOf(limit - used, endMs, nowMs)
    const seconds = Math.ceil((endMs - nowMs) / 1_000) - (ways.short ?? 0)
    const tellsWait = !isAdmitted && 'short' in ways
    return { isAdmitted, headers: { ...headers, ...(tellsWait && { 'retry-after': seconds }) } }
  }
}

/** At most so many within any second. */
export function slidingWindow(limit: number): Limiter {
  let admitted: number[] = []
  return (nowMs) => {
    admitted = admitted.filter((atMs) => atMs > nowMs - 1_000)
    const [oldest = nowMs] = admitted
    const seconds = Math.ceil((oldest + 1_000 - nowMs) / 1_000)
    if (admitted.length >= limit) return { isAdmitted: false, headers: { 'retry-after': seconds } }
    admitted.push(nowMs)
    return { isAdmitted: true }
  }
}

/** A bucket of so many that is filled again evenly, within a second. */
export function bucket(limit: number): Limiter {
  let [level, thenMs] = [limit, 0]
  return (nowMs) => {
    level = Math.min(limit, level + ((nowMs - thenMs) / 1_000) * limit)
    thenMs = nowMs
    const isAdmitted = level >= 1
    if (isAdmitted) level--
    return { isAdmitted }
  }
}

/** A server behind a limiter, and what it was asked. */
export async function startLimited(
  t: Test,
  limiter: Limiter,
): Promise<Readonly<{ url: string; seen: readonly IncomingMessage[] }>> {
  return startUpstream(t, (_request, response) => {
    const { isAdmitted, headers } = limiter(Date.now())
    response.writeHead(isAdmitted ? 200 : 429, { ...headers }).end('{}')
  })
}
