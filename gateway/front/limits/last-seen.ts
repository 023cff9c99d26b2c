import { areLater, copyOf, overwrite, type Counters } from './counters.ts'
import type { Granted } from './grants.ts'
import type { Parts, PartState } from './parts.ts'
import type { Decision } from './step.ts'

/** The last counters of a quota. Bans are left out: they belong to keys, and a quota may be an account's. */
export type LastSeen = Counters & {
  bannedUntilMs: 0
  granted: Granted | undefined
  parts: Parts | undefined
}

/** The most parts of a quota that are remembered: an account may have many keys with caps. */
const mostParts = 1_000

/**
 * Notes the counters of an answer, and gives the object that has them. Answers may overtake each other, so counters never
 * become less within a generation. They are written into the same object: a new one for each request would outlive the
 * request, and be left to the full collections.
 */
export function remembered(
  last: LastSeen | undefined,
  { seen, granted, parts }: Decision,
): LastSeen {
  const present: LastSeen = last ?? { ...copyOf(seen), bannedUntilMs: 0, granted, parts: undefined }
  if (last && areLater(seen, last)) {
    takeOver(last, seen)
    last.granted = granted
  }
  if (parts && seen.generation === present.generation) rememberParts(present, parts)
  return present
}

/** Takes later counters over. Those of parts don't outlive a reset. */
export function takeOver(last: LastSeen, counters: Counters): void {
  if (counters.generation > last.generation) last.parts = undefined
  overwrite(last, counters)
}

function rememberParts(last: LastSeen, states: readonly PartState[]): void {
  const parts =
    last.parts && last.parts.size <= mostParts ? last.parts : new Map<string, Counters>()
  last.parts = parts
  for (const { part, counters } of states) {
    const before = parts.get(part.name)
    if (!before) parts.set(part.name, copyOf(counters))
    else if (areLater(counters, before)) overwrite(before, counters)
  }
}
