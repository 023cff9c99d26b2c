import type { Change } from '../../front/records/audit-store.ts'
import { nameOf } from './check.ts'
import { changesFreely } from './free-settings.ts'
import type { Path } from './mistake.ts'

/** Sections that can't be changed while a gateway runs. */
export const fixedSections = [
  ...(['name', 'listen', 'admin', 'decide', 'store', 'keys', 'workers'] as const),
] as const

/** A setting with different values in two configurations; `null` where it is absent. */
export type Difference = Readonly<{
  /** The path of the setting, such as `plans.free.perHour`. */
  place: string
  before: unknown
  after: unknown
  /** The lines of the setting in both files; left out where it isn't written, or where the lines aren't known. */
  beforeLine?: number
  afterLine?: number
  /** Present if a running gateway must be restarted for the change. */
  needsRestart?: true
}>

/** Gives the line of a setting in a file, if it is written there. */
export type LineOf = (path: Path) => number | undefined

const unknownLine: LineOf = () => undefined

/** The differences between two configurations in their shown form, without secrets. */
export function differencesOf(
  before: unknown,
  after: unknown,
  lines: Readonly<{ before: LineOf; after: LineOf }> = { before: unknownLine, after: unknownLine },
): Difference[] {
  return [...compare(before, after, [])].map(({ path, ...sides }) => {
    const [beforeLine, afterLine] = [lines.before(path), lines.after(path)]
    return {
      place: nameOf(path),
      ...sides,
      ...(beforeLine === undefined ? {} : { beforeLine }),
      ...(afterLine === undefined ? {} : { afterLine }),
      ...(needsRestart(path) ? { needsRestart: true } : {}),
    }
  })
}

function needsRestart(path: Path): boolean {
  return fixedSections.some((each) => each === path[0]) && !changesFreely(path)
}

/** The lines of all settings of a shown configuration that are written in its file, by their places. */
export function writtenLines(shown: unknown, lineOf: LineOf): Record<string, number> {
  const lines: Record<string, number> = {}
  for (const path of pathsIn(shown, [])) {
    const line = lineOf(path)
    if (line !== undefined) lines[nameOf(path)] = line
  }
  return lines
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

function* pathsIn(value: unknown, path: Path): Generator<Path> {
  if (path.length > 0) yield path
  if (!isSection(value)) return
  for (const [name, member] of Object.entries(value)) {
    yield* pathsIn(member, [...path, Array.isArray(value) ? Number(name) : name])
  }
}

function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
