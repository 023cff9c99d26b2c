import { existsSync } from 'node:fs'
import type { Clock } from '../../../shared/clock.ts'
import type { Database, Statement } from '../../../shared/sqlite.ts'
import { counted, type CopyGoal, type KeyClash } from '../copy.ts'
import { lookInto } from './belongs.ts'
import { claim } from './claim.ts'
import { pendingIn } from './copy-source.ts'

/** Looks into a gateway's file that something may be copied to, and changes nothing of it. */
export function lookingIn(
  file: string,
  clock: Clock,
): Pick<CopyGoal, 'contents' | 'clashes'> & Readonly<{ close: () => void }> {
  const database = lookInto(file)
  try {
    if (existsSync(`${file}-counting`)) requireUnclaimed(database)
  } catch (error) {
    database.close()
    throw error
  }
  return {
    contents: () => Promise.resolve(contentsOf(database, clock())),
    clashes: (keys) => {
      const { versionOf, holderOf } = keyLooks(database)
      const clashes = keys.flatMap(({ key, version }): KeyClash[] => {
        const known = versionOf.get(key.id)
        if (known !== undefined && known !== version) {
          return [
            { key: key.id, why: 'it is there in another version: it was changed in one of both' },
          ]
        }
        const holder = key.secrets
          .map(({ hash }) => holderOf.get(hash))
          .find((id) => id && id !== key.id)
        return holder === undefined
          ? []
          : [{ key: key.id, why: `its token is that of the key ${holder}` }]
      })
      return Promise.resolve(clashes)
    },
    close: () => void database.close(),
  }
}

/** Which version of a key is there, and whose a secret is. */
export function keyLooks(database: Database): KeyLooks {
  const versionOf = database.prepare<[string], number>('SELECT version FROM keys WHERE id = ?')
  const holderOf = database.prepare<[string], string>('SELECT keyId FROM secrets WHERE hash = ?')
  return { versionOf: versionOf.pluck(), holderOf: holderOf.pluck() }
}

type KeyLooks = Readonly<{
  versionOf: Statement<[string], number>
  holderOf: Statement<[string], string>
}>

/** Why nothing can be copied to a file that a gateway has counters of in its memory. */
export function countedIn(file: string): string {
  return `a gateway counts in ${file}: stop it first. Nothing was written`
}

function requireUnclaimed(database: Database): void {
  const claimed = claim(database)
  if (!claimed) throw new Error(countedIn(database.name))
  claimed.close()
}

/** Reads the content of a file, which an older version may have written. */
function contentsOf(database: Database, nowMs: number): string[] {
  const tables = new Set(
    database.prepare<[], string>('SELECT name FROM sqlite_master').pluck().all(),
  )
  const count = (table: string): number =>
    tables.has(table)
      ? (database.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0)
      : 0
  return [
    ...counted(count('keys'), 'key', 'keys'),
    ...counted(quotasIn(database, tables, nowMs), 'quota', 'quotas'),
    ...counted(count('tallies'), 'tally of usage', 'tallies of usage'),
    ...counted(count('audit'), 'line of audit', 'lines of audit'),
  ]
}

/** Quotas that still matter: in their places, and in the journal. */
function quotasIn(database: Database, tables: ReadonlySet<string>, nowMs: number): number {
  const names = database
    .prepare<number, string>('SELECT quota FROM quotas WHERE keepUntilMs > ?')
    .pluck()
    .all(nowMs)
  const pending = tables.has('journal') ? pendingIn(database, nowMs).keys() : []
  return new Set([...names, ...pending]).size
}
