import type { Change } from '../records/audit-store.ts'

/** Sections that can't be changed while a gateway runs. */
export const fixedSections = ['name', 'listen', 'admin', 'store', 'keys', 'workers'] as const

/** A setting with different values in two configurations; `null` where it is absent. */
export type Difference = Readonly<{
  /** The path of the setting, such as `plans.free.perMinute`. */
  place: string
  before: unknown
  after: unknown
  /** Present if a running gateway must be restarted for the change. */
  needsRestart?: true
}>

/** The differences between two configurations in their shown form, without secrets. */
export function differencesOf(before: unknown, after: unknown): Difference[] {
  return [...compare(before, after, '')].map((difference) => {
    const [section = ''] = difference.place.split(/[.[]/, 1)
    const isFixed = fixedSections.some((each) => each === section)
    return isFixed ? { ...difference, needsRestart: true } : difference
  })
}

/** The differences as a line of the audit: changed settings before and after; `undefined` if there are none. */
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
