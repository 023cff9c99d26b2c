import { join } from 'node:path'
import type { Test } from 'tap'
import { startGateway, type GatewayOptions } from './gateway.ts'
import type { Answer } from './http.ts'
import { root } from './process.ts'

const document = join(root, 'config/openapi/animal-store.yaml')

/** The pages for callers, as a part of a configuration. */
export const portal = `portal: { path: /docs, openapi: ${document} }`

/** The time at which the clock of a gateway begins. */
export const noon = Date.UTC(2026, 5, 15, 12)

/** An hour. */
export const hourMs = 3_600_000

/** A gateway with the pages, and a clock that the test moves. */
export async function start(t: Test, options: GatewayOptions = {}) {
  const time = { nowMs: noon }
  const { more = '' } = options
  const gateway = await startGateway(t, {
    clock: () => time.nowMs,
    ...options,
    more: `${portal}\n${more}`,
  })
  const ask = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    gateway.call('GET', path, undefined, headers)
  return { gateway, time, ask }
}
