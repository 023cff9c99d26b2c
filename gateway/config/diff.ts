import type { Change } from '../records/audit-store.ts'

/** Sections that can't be changed while a gateway runs. */
export const fixedSections = ['listen', 'admin', 'store', 'keys', 'workers'] as const

/** A setting that is another in one of two files; `null` where it isn't there. */
export type Difference = Readonly<{
  place: string
  before: unknown
  after: unknown
  /** There where a gateway that runs must be restarted for it. */
  needsRestart?: true
}>

/** What would change if one configuration, as it is shown, took the place of another. */
export function differencesOf(before: unknown, after: unknown): Difference[] {
  return [...compare(before, after, '')].map((difference) => {
    const [section = ''] = difference.place.split(/[.[]/, 1)
    const isFixed = fixedSections.some((each) => each === section)
    return isFixed ? { ...difference, needsRestart: true } : difference
  })
}

/** The same for the audit: the settings that are others, before and after; nothing if there are none. */
export function changeOf(file: string, before: unknown, after: unknown): Change | undefined {
  const differences = differencesOf(before, after)
  if (differences.length === 0) return undefined
  const one = (side: 'before' | 'after') =>
    Object.fromEntries(differences.map((each) => [each.place, each[side]]))
  return { what: 'config.change', subject: file, before: one('before'), after: one('after') }
}

function* compare(before: unknown, after: unknown, place: string): Generator<Difference> {
  if (isSection(before) && isSection(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const inner = Array.isArray(before) ? `${place}[${name}]` : `${place}.${name}`
      yield* compare(Reflect.get(before, name), Reflect.get(after, name), inner)
    }
  } else if (JSON.stringify(before) !== JSON.stringify(after)) {
    yield { place: place.replace(/^\./, ''), before: before ?? null, after: after ?? null }
  }
}

function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
