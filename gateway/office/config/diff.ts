import type { Change } from '../../front/records/audit-store.ts'
import { nameOf } from './check.ts'
import { changesFreely } from './free-settings.ts'
import type { Path } from './mistake.ts'

/** Sections that can't be changed while a gateway runs. */
export const fixedSections = [
  'name',
  'listen',
  'admin',
  'decide',
  'store',
  'keys',
  'workers',
] as const

/** A setting with different values in two configurations; `null` where it is absent. */
export type Difference = Readonly<{
  /** The path of the setting, such as `plans.free.perHour`. */
  place: string
  before: unknown
  after: unknown
  /** Present if a running gateway must be restarted for the change. */
  needsRestart?: true
}>

/** The differences between two configurations in their shown form, without secrets. */
export function differencesOf(before: unknown, after: unknown): Difference[] {
  return [...compare(before, after, [])].map(({ path, ...sides }) => ({
    place: nameOf(path),
    ...sides,
    ...(needsRestart(path) && { needsRestart: true }),
  }))
}

function needsRestart(path: Path): boolean {
  return fixedSections.some((each) => each === path[0]) && !changesFreely(path)
}

/** The differences as a line of the audit: changed settings before and after; `undefined` if there are none. */
export function changeOf(file: string, before: unknown, after: unknown): Change | undefined {
  const differences = differencesOf(before, after)
  if (differences.length === 0) return undefined
  const one = (side: 'before' | 'after') =>
    Object.fromEntries(differences.map((each) => [each.place, each[side]]))
  return { what: 'config.change', subject: file, before: one('before'), after: one('after') }
}

type Compared = Readonly<{ path: Path; before: unknown; after: unknown }>

function* compare(before: unknown, after: unknown, path: Path): Generator<Compared> {
  if (before === after) return
  if (isSection(before) && isSection(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const step = Array.isArray(before) ? Number(name) : name
      yield* compare(Reflect.get(before, name), Reflect.get(after, name), [...path, step])
    }
  } else if (JSON.stringify(before) !== JSON.stringify(after)) {
    yield { path, before: before ?? null, after: after ?? null }
  }
}

function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
