import type { Change } from '../stores/audit.ts'

/** A setting that is another in one of two configurations. */
export type Difference = Readonly<{ place: string; before: string; after: string }>

/** What would change if one configuration, as it is shown, took the place of another. */
export function differencesOf(before: unknown, after: unknown): Difference[] {
  return [...compare(before, after, '')]
}

/** The same for the audit: the settings that are others, before and after. */
export function changeOf(file: string, before: unknown, after: unknown): Change {
  const differences = differencesOf(before, after)
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
    yield { place: place.replace(/^\./, ''), before: text(before), after: text(after) }
  }
}

function isSection(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function text(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
