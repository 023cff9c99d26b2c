import { isWindowName, windowNames, type WindowName } from '../../../shared/windows.ts'
import { statusByCode, type Refusal, type RefusalCode } from '../../../shared/refusal.ts'
import type { RequestRecord } from '../request-record.ts'
import { classOfStatus, type StatusClass } from './status-class.ts'

/** The name by which a refusal is counted: its code and, for a limit, the window that was used up. */
export type RefusalName = RefusalCode | `rate_limit_exceeded ${WindowName}`

/** The name by which a request is tallied: its outcome, and the class of its status or the refusal. */
export type Use = `admitted ${StatusClass}` | `refused ${RefusalName}`

const refusalsByWindow = new Map<string, RefusalName>(
  windowNames.map((name) => [name, `rate_limit_exceeded ${name}`]),
)

const refused = new Map(
  [...Object.keys(statusByCode), ...refusalsByWindow.values()].map((name) => [
    name,
    `refused ${name as RefusalName}` as const,
  ]),
)

/** All names by which refused requests are tallied. */
export const refusalTallies: readonly string[] = [...refused.values()]

// Constants: comparing with a text that is built for each request is slower.
const admitted = {
  '1xx': 'admitted 1xx',
  '2xx': 'admitted 2xx',
  '3xx': 'admitted 3xx',
  '4xx': 'admitted 4xx',
  '5xx': 'admitted 5xx',
} as const

/** Tallied amounts: the points of admitted requests are their number, and `more`, and not `less`. */
export const pointTallies = { more: 'points more', less: 'points less' } as const

/** All names under which `usage` counts requests and points. */
export const uses: readonly string[] = [
  ...Object.values(admitted),
  ...refused.values(),
  ...Object.values(pointTallies),
]

export function refusalName({ code, reason }: Refusal): RefusalName {
  return (code === 'rate_limit_exceeded' && reason && refusalsByWindow.get(reason)) || code
}

/** The window that a refusal's limit has used up. */
export function refusedBy({ reason }: Refusal): WindowName | undefined {
  return isWindowName(reason) ? reason : undefined
}

/** The name under which a caller's request is tallied; `undefined` for a request without a decision. */
export function useOf(record: RequestRecord, status: number): Use | undefined {
  const { standing, forbidden, refusal } = record
  if (!standing) return undefined
  if (forbidden || standing.decision.verdict !== 'admitted') {
    return refusal && refused.get(refusalName(refusal))
  }
  return admitted[classOfStatus(status)]
}

/** How many points more than one an admitted request has cost; negative if it cost none, or its points were given back. */
export function pointsBeyondOne({ standing, isGivenBack }: RequestRecord): number {
  if (!standing) return 0
  return (isGivenBack ? 0 : standing.decision.cost) - 1
}
