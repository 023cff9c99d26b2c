import type { Clock } from '../../../../shared/clock.ts'
import type { Database, Statement } from '../../../../shared/sqlite.ts'
import { clashOf } from '../clash.ts'
import { counted, type KeyClash } from '../copy.ts'
import type { StoredKey } from '../../keys/key.ts'
import { openToInspect, requireGatewayFile } from './gateway-file.ts'
import { isClaimed } from './claim.ts'
import { pendingIn } from './copy-source.ts'

/** The looks at a file that a copy may be written to. */
type Looks = Readonly<{
  contents: () => string[]
  clashes: (keys: readonly StoredKey[]) => KeyClash[]
  close: () => void
}>

/** Opens the file that a copy may be written to, without changing it. */
export function inspectGoal(file: string, clock: Clock): Looks {
  requireGatewayFile(file)
  const database = openToInspect(file)
  try {
    if (isClaimed(database)) throw new Error(inUseSentence(file))
  } catch (error) {
    database.close()
    throw error
  }
  return {
    contents: () => contentsOf(database, clock()),
    clashes: (keys) => {
      const { versionOf, holderOf } = keyLookups(database)
      return keys.flatMap((stored) => {
        return clashOf(stored, versionOf.get(stored.key.id), (hash) => holderOf.get(hash)) ?? []
      })
    },
    close: () => void database.close(),
  }
}

/** Look-ups of a key's version and of the key that a secret belongs to. */
export function keyLookups(database: Database): KeyLookups {
  const versionOf = database.prepare<[string], number>('SELECT version FROM keys WHERE id = ?')
  const holderOf = database.prepare<[string], string>('SELECT keyId FROM secrets WHERE hash = ?')
  return { versionOf: versionOf.pluck(), holderOf: holderOf.pluck() }
}

type KeyLookups = Readonly<{
  versionOf: Statement<[string], number>
  holderOf: Statement<[string], string>
}>

/** The sentence about a file whose counters a gateway has in memory, which would overwrite a copy. */
export function inUseSentence(file: string): string {
  return `a gateway counts in ${file}: stop it first. Nothing was written`
}

/** A summary of the file's content. */
function contentsOf(database: Database, nowMs: number): string[] {
  const count = (table: string): number =>
    database.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0
  return [
    ...counted(count('keys'), 'key', 'keys'),
    ...counted(quotasIn(database, nowMs), 'quota', 'quotas'),
    ...counted(count('counts_tallies'), 'tally of usage', 'tallies of usage'),
    ...counted(count('audit'), 'line of audit', 'lines of audit'),
  ]
}

/** The number of quotas that still matter, in the table and in the journal. */
function quotasIn(database: Database, nowMs: number): number {
  const names = database
    .prepare<number, string>('SELECT quota FROM quotas WHERE keepUntilMs > ?')
    .pluck()
    .all(nowMs)
  return new Set([...names, ...pendingIn(database, nowMs).keys()]).size
}
