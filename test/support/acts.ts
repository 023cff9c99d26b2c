import type { Test } from 'tap'
import type { ActName } from '../../gateway/front/acts/wish.ts'
import { startGateway, type Gateway, type GatewayOptions } from './gateway.ts'

/** Noon of the day on which acts are tried. */
export const noon = Date.UTC(2026, 5, 15, 12)

/** An operation of each kind of deprecation. */
export const deprecations = `
deprecations:
  - { operation: GET /v1/old, since: 2026-01-01, sunset: 2027-01-01, replacement: /v1/new }
  - { operation: GET /v1/gone, since: 2026-01-01, sunset: 2026-02-01, replacement: /v1/new }
  - operation: GET /v1/brown
    since: 2026-01-01
    sunset: 2027-01-01
    replacement: /v1/new
    brownouts: [ { from: 2026-06-15T11:00:00Z, to: 2026-06-15T13:00:00Z } ]
`

/** Bans and limits that one request too many meets. */
export const strict = 'bans: { strikes: 1, grace: 0s }\nstrangers: { perMinute: 1, perDay: 9 }'

/** A gateway whose clock can be moved. */
export type Stage = Gateway & Readonly<{ pass: (ms: number) => void }>

/** The value of the header that asks for an act. */
export const wishOf = (name: ActName): string => (name === 'slow' ? 'slow=5ms' : name)

/** Starts a gateway at noon, with deprecations and strict limits unless told otherwise. */
export async function startStage(t: Test, options: GatewayOptions = {}): Promise<Stage> {
  let now = noon
  const gateway = await startGateway(t, {
    ...{ clock: () => now, more: deprecations + strict },
    ...options,
  })
  return { ...gateway, pass: (ms) => void (now += ms) }
}
