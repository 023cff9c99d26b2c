import { isLimited, windowsWhere, type PageWindow } from '../../http/page/windows.ts'
import type { Terms } from '../terms.ts'

/** The windows of the plans in force. */
export function windowsIn({ plans }: Terms): readonly PageWindow[] {
  return windowsWhere((window) =>
    plans.some(({ limits }) => limits !== null && isLimited(limits, window)),
  )
}

/** Such as "a minute begins at second 0, and a day at midnight". */
export function beginnings(all: readonly PageWindow[]): string {
  const told = all.filter(({ begins }) => begins !== undefined)
  const clauses = told.map(({ each, begins }, i) => `${each} ${i === 0 ? 'begins ' : ''}${begins}`)
  return new Intl.ListFormat('en', { type: 'conjunction' }).format(clauses)
}

/** Such as "the minute or the day". */
export function oneOf(all: readonly PageWindow[]): string {
  const names = all.map(({ name }) => `the ${name}`)
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(names)
}
