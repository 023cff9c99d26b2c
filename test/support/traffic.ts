import type { Test } from 'tap'
import { Client } from 'undici'
import { isLong } from './promises.ts'
import { until } from './until.ts'

export type Asked = Readonly<{ atMs: number; ms: number; status: string }>

export type Traffic = Readonly<{
  /** All that was asked so far. */
  asked: readonly Asked[]
  /** The requests that began between two times. */
  between: (fromMs: number, toMs?: number) => Asked[]
  /** Waits until each connection has had an answer, on average, to what began after a time. */
  answeredSince: (fromMs: number) => Promise<unknown>
  stop: () => Promise<void>
}>

/**
 * Asks again and again over some connections, with a short pause, and notes what comes of it; ends with its test. Each
 * connection is in use all the time: one that rests could be closed by a gateway that stops just as it sends again.
 */
export function startTraffic(
  t: Test,
  url: string,
  headers: Record<string, string>,
  { connections = 16, pauseMs = isLong ? 4 : 40, path = '/v1/x' } = {},
): Traffic {
  const asked: Asked[] = []
  let isOn = true
  const ask = async (): Promise<void> => {
    const client = new Client(url, { pipelining: 1 })
    while (isOn) {
      const atMs = performance.now()
      const status = await client.request({ method: 'GET', path, headers }).then(
        async ({ statusCode, body }) => body.dump().then(() => String(statusCode)),
        (error: Error) => error.message,
      )
      asked.push({ atMs, ms: performance.now() - atMs, status })
      await pause(pauseMs)
    }
    await client.close()
  }
  const asking = Array.from({ length: connections }, ask)
  const stop = async (): Promise<void> => {
    isOn = false
    await Promise.all(asking)
  }
  t.teardown(stop)
  const between = (fromMs: number, toMs = Infinity): Asked[] =>
    asked.filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
  return {
    asked,
    between,
    answeredSince: (fromMs) => until(() => between(fromMs).length >= connections),
    stop,
  }
}

export function statusesOf(asked: readonly Asked[]): Record<string, number> {
  const statuses: Record<string, number> = {}
  for (const { status } of asked) statuses[status] = (statuses[status] ?? 0) + 1
  return statuses
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((go) => setTimeout(go, milliseconds))
}
