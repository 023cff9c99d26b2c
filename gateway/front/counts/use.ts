import { statusByCode, type Refusal, type RefusalCode } from '../../../shared/refusal.ts'
import { windowNames, type WindowName } from '../../../shared/windows.ts'

const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

type StatusClass = (typeof classes)[number]

/** The name by which a refusal is counted: its code and, for a limit, the window that was used up. */
export type RefusalName = RefusalCode | `rate_limit_exceeded ${WindowName}`

const refusalsByWindow = new Map<string, RefusalName>(
  windowNames.map((name) => [name, `rate_limit_exceeded ${name}`]),
)

const refused = new Map(
  [...Object.keys(statusByCode), ...refusalsByWindow.values()].map((name) => [
    name,
    `refused ${name}`,
  ]),
)

// Constants: comparing with a text that is built for each request is slower.
const admitted = {
  '1xx': 'admitted 1xx',
  '2xx': 'admitted 2xx',
  '3xx': 'admitted 3xx',
  '4xx': 'admitted 4xx',
  '5xx': 'admitted 5xx',
} as const

/**
 * Points beside those of usage, which most days lack: those that requests were admitted with whose answers tell the cost, and
 * those beyond what is included.
 */
export const rareFigures = ['estimated', 'beyond'] as const

export type RareFigure = (typeof rareFigures)[number]

export function isRareFigure(kind: string | undefined): kind is RareFigure {
  return rareFigures.some((name) => name === kind)
}

/** Tallied amounts: the points of admitted requests are their number, and `more`, and not `less`. */
export const pointTallies = {
  more: 'points more',
  less: 'points less',
  estimated: 'estimated points',
  beyond: 'beyond points',
} as const

function refusalName({ code, window }: Refusal): RefusalName {
  return (window && refusalsByWindow.get(window)) ?? code
}

/** The class of a status, such as `2xx`. */
export function classOfStatus(status: number): StatusClass {
  return classes[Math.floor(status / 100) - 1] ?? '5xx'
}

/** The name under which an admitted request is tallied. */
export function admittedTally(status: number): string {
  return admitted[classOfStatus(status)]
}

/** The name under which a refused request is tallied. */
export function refusedTally(refusal: Refusal): string {
  return refused.get(refusalName(refusal)) ?? `refused ${refusal.code}`
}

/** The labels of a refusal in metrics, with spaces between them: its name, and the operation whose limit is used up. */
export function refusalLabels(refusal: Refusal): string {
  const { operation } = holderOf(refusal)
  const name = refusal.reason === 'at_once' ? `${refusal.code} at_once` : refusalName(refusal)
  return operation === undefined ? name : `${name} ${operation}`
}

/** Whose limit has refused a request, where it isn't the plan's: the operation, or the cap of its key. */
export function holderOf(refusal: Pick<Refusal, 'of'> | undefined): {
  operation?: string
  cap?: true
} {
  if (refusal?.of === undefined) return {}
  return refusal.of === 'cap' ? { cap: true } : { operation: refusal.of.slice('operation '.length) }
}
