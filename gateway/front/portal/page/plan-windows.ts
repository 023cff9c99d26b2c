import {
  isLimited,
  windowsWhere,
  type LimitsByName,
  type PageWindow,
} from '../../http/page/windows.ts'
import type { Terms } from '../terms.ts'

/** The windows of the plans in force. */
export function windowsIn({ plans }: Terms): readonly PageWindow[] {
  return windowsOf(withIncluded(plans))
}

/** The windows of the plans in force and of their operations. */
export function allWindowsIn({ plans }: Terms): readonly PageWindow[] {
  return windowsOf([...withIncluded(plans), ...plans.flatMap(({ operations }) => operations)])
}

/** Plans, and the windows in which something is included and more is metered. */
function withIncluded(plans: Terms['plans']) {
  return [...plans, ...plans.map(({ included = null }) => ({ limits: included }))]
}

function windowsOf(
  all: readonly Readonly<{ limits: LimitsByName | null }>[],
): readonly PageWindow[] {
  return windowsWhere((window) =>
    all.some(({ limits }) => limits !== null && isLimited(limits, window)),
  )
}

export function haveOperations({ plans }: Terms): boolean {
  return plans.some(({ operations }) => operations.length > 0)
}

/** Such as "a minute begins at second 0, and a day at midnight". */
export function beginnings(all: readonly PageWindow[]): string {
  const windows = all.filter(({ begins }) => begins !== undefined)
  const clauses = windows.map(
    ({ each, begins }, i) => `${each} ${i === 0 ? 'begins ' : ''}${begins}`,
  )
  return new Intl.ListFormat('en', { type: 'conjunction' }).format(clauses)
}

/** Such as "the minute or the day". */
export function oneOf(all: readonly PageWindow[]): string {
  const names = all.map(({ name }) => `the ${name}`)
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(names)
}
