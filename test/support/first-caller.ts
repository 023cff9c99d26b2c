import type { Test } from 'tap'
import { startGateway, type GatewayOptions } from './gateway.ts'
import { json, raw } from './http.ts'

/** Limits of a key that no test reaches. */
export const plenty = { limits: { perMinute: 100_000, perDay: 1_000_000 } }

/** A gateway with one caller, who asks it with a key: by `get`, or by `ask` with the bytes that `head` begins. */
export async function startForCaller(t: Test, options: GatewayOptions = {}) {
  const gateway = await startGateway(t, options)
  const { token, headers } = await gateway.key(plenty)
  const head = (line: string, more = '') =>
    `${line} HTTP/1.1\r\nHost: x.example\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`
  const ask = (line: string, more = '', body = '') => raw(gateway.url, head(line, more) + body)
  const get = (path: string) => gateway.call('GET', path, undefined, headers)
  const dayLeft = async (): Promise<unknown> => {
    const { day } = json(await get('/v1/quota')) as { day: { remaining: number } }
    return day.remaining
  }
  return { ...gateway, token, headers, head, ask, get, dayLeft }
}
