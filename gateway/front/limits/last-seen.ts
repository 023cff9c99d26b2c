import { areLater, copyOf, overwrite, type Counters } from './counters.ts'
import type { Granted } from './grants.ts'
import type { Parts } from './parts.ts'
import { healPurse, takenPart, type Purse } from './purse.ts'
import type { Decision } from './step.ts'

/** The last counters of a quota. Bans are left out: they belong to keys, and a quota may be an account's. */
export type LastSeen = Counters & {
  bannedUntilMs: 0
  granted: Granted | undefined
  parts: Parts | undefined
  purse?: Purse | undefined
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
  { seen, granted, parts, purse }: Decision,
): LastSeen {
  const present: LastSeen = last ?? { ...copyOf(seen), bannedUntilMs: 0, granted, parts: undefined }
  if (last && areLater(seen, last)) {
    takeOver(last, seen)
    last.granted = granted
  }
  if (seen.generation === present.generation) {
    for (const { part, counters } of parts ?? []) rememberPart(present, part.name, counters)
  }
  if (purse) rememberPurse(present, seen, purse, purse.taken)
  return present
}

/** Notes what a quota has bought. What was taken of it counts as its parts do. */
export function rememberPurse(
  last: LastSeen,
  seen: Counters,
  purse: Readonly<Purse>,
  taken: Counters | undefined,
): void {
  healPurse(last, purse)
  if (taken && seen.generation === last.generation) rememberPart(last, takenPart, taken)
}

/** Takes later counters over. Those of parts don't outlive a reset. */
export function takeOver(last: LastSeen, counters: Counters): void {
  if (counters.generation > last.generation) last.parts = undefined
  overwrite(last, counters)
}

function rememberPart(last: LastSeen, name: string, counters: Counters): void {
  const parts =
    last.parts && last.parts.size <= mostParts ? last.parts : new Map<string, Counters>()
  last.parts = parts
  const before = parts.get(name)
  if (!before) parts.set(name, copyOf(counters))
  else if (areLater(counters, before)) overwrite(before, counters)
}
