import type { StoredKey } from '../keys/key.ts'
import type { QuotaState } from '../limits/step.ts'
import { isDeprecatedCall } from '../records/deprecated-calls.ts'
import type { AuditEntry } from '../records/audit-store.ts'
import type { Tally } from '../records/tally-store.ts'

/** A quota as it is kept, and until when it can matter. */
export type KeptQuota = Readonly<{ quota: string; state: QuotaState; keepUntilMs: number }>

/**
 * A store as it is read to be copied, while gateways may serve from it. What is damaged is left out. Batches are of
 * a size that neither reader nor writer is busy with for long.
 */
export interface CopySource {
  /** How messages call it; never with a password. */
  readonly name: string
  /** How many damaged entries were left out so far. */
  readonly damaged: number
  keyCount(): Promise<number>
  /** By version, the lowest first. A key that is changed meanwhile may come again, as it is then. */
  keys(): AsyncIterable<readonly StoredKey[]>
  /** Those that still matter. One may come twice. */
  quotas(): AsyncIterable<readonly KeptQuota[]>
  /** Of the days that are remembered. One may come twice. */
  tallies(): AsyncIterable<readonly Tally[]>
  /** The oldest first. */
  audit(): AsyncIterable<readonly AuditEntry[]>
  close(): Promise<void>
}

/** Why a key can't be copied: it, or a secret of it, is there otherwise. */
export type KeyClash = Readonly<{ key: string; why: string }>

/**
 * A store as a copy is written to it. Whatever is put twice is there once, and nothing that is there becomes less: a
 * copy that was broken off can be begun again.
 */
export interface CopyGoal {
  readonly name: string
  /** What is in it, such as `5 keys`; nothing if it is empty. */
  contents(): Promise<readonly string[]>
  /** Which of these keys can't be put. Those that are there with the same version can. */
  clashes(keys: readonly StoredKey[]): Promise<readonly KeyClash[]>
  /** Puts keys with their versions; gives how many weren't there. A key is replaced by a later version of it. */
  putKeys(keys: readonly StoredKey[]): Promise<number>
  /** Puts quotas; of one that is there, the larger counts in each window. */
  putQuotas(quotas: readonly KeptQuota[]): Promise<void>
  /** Puts tallies; of one that is there, the larger counts. */
  putTallies(tallies: readonly Tally[]): Promise<void>
  /** Puts lines of the audit among those that are there, by their time. */
  putAudit(entries: readonly AuditEntry[]): Promise<void>
  /** Makes what was put last. Whatever was not finished may be incomplete. */
  finish(): Promise<void>
  close(): Promise<void>
}

export type CopyOptions = Readonly<{
  /** Whether the goal may have something in it. */
  intoNonEmpty?: boolean
  /** Whether it is only counted what would be copied. */
  isDryRun?: boolean
  nowMs: number
  /** Who copies, for the audit of the goal. */
  by: string
  /** Told how far it is; where it is known, of how many. */
  told?: (what: 'keys' | 'quotas' | 'usage', done: number, total?: number) => void
}>

/** What a copy has copied, or would. */
export type Copied = Readonly<{
  keys: number
  /** Keys that the goal had already, with the same version. */
  alreadyThere: number
  quotas: number
  bans: number
  usage: number
  deprecatedCalls: number
  audit: number
  damaged: number
}>

/** How many keys that can't be put are told of. */
const mostClashes = 5

/**
 * Copies all that a store holds to another one. Keys come last: nobody is let in before the bans and counters of
 * its key are there. Throws, before anything is written, if the goal has something and may not, or has it otherwise.
 */
export async function copyStore(
  source: CopySource,
  goal: CopyGoal,
  { intoNonEmpty = false, isDryRun = false, nowMs, by, told }: CopyOptions,
): Promise<Copied> {
  const contents = await goal.contents()
  if (contents.length > 0) {
    if (!intoNonEmpty) {
      throw new Error(
        `${goal.name} isn't empty: it has ${contents.join(', ')}. Nothing was written. Name an empty ` +
          'store, or say --into-non-empty to add to this one',
      )
    }
    await requireNoClash(source, goal)
  }
  const copied = { keys: 0, quotas: 0, bans: 0, usage: 0, deprecatedCalls: 0, audit: 0 }
  let newKeys = 0
  for await (const batch of source.quotas()) {
    if (!isDryRun) await goal.putQuotas(batch)
    copied.quotas += batch.length
    copied.bans += batch.reduce((sum, { state }) => sum + bansIn(state, nowMs), 0)
    told?.('quotas', copied.quotas)
  }
  for await (const batch of source.tallies()) {
    if (!isDryRun) await goal.putTallies(batch)
    const deprecated = batch.filter(({ what }) => isDeprecatedCall(what)).length
    copied.deprecatedCalls += deprecated
    copied.usage += batch.length - deprecated
    told?.('usage', copied.usage + copied.deprecatedCalls)
  }
  const audit: AuditEntry[] = []
  for await (const batch of source.audit()) audit.push(...batch)
  const note = { atMs: nowMs, by, what: 'store.copy', subject: goal.name, before: null }
  if (!isDryRun) await goal.putAudit([...audit, { ...note, after: { from: source.name } }])
  copied.audit = audit.length
  const total = await source.keyCount()
  for await (const batch of source.keys()) {
    newKeys += isDryRun ? batch.length : await goal.putKeys(batch)
    copied.keys += batch.length
    if (copied.keys < total) told?.('keys', copied.keys, total)
  }
  told?.('keys', total, total)
  if (!isDryRun) await goal.finish()
  const alreadyThere = copied.keys - newKeys
  return { ...copied, keys: newKeys, alreadyThere, damaged: source.damaged }
}

async function requireNoClash(source: CopySource, goal: CopyGoal): Promise<void> {
  const clashes: KeyClash[] = []
  let count = 0
  for await (const batch of source.keys()) {
    const found = await goal.clashes(batch)
    count += found.length
    clashes.push(...found.slice(0, mostClashes - clashes.length))
  }
  if (count === 0) return
  const more =
    count > clashes.length ? `\nand ${(count - clashes.length).toLocaleString('en')} more` : ''
  throw new Error(
    `${goal.name} has some of these keys otherwise, and nothing was written:\n` +
      clashes.map(({ key, why }) => `${key}: ${why}`).join('\n') +
      more,
  )
}

function bansIn({ conducts }: QuotaState, nowMs: number): number {
  let count = 0
  for (const { bannedUntilMs } of conducts?.values() ?? []) if (bannedUntilMs > nowMs) count++
  return count
}

/** A number of things in words, such as `1 key` or `2,000 keys`; of none, nothing. */
export function counted(count: number, one: string, many: string): string[] {
  return count > 0 ? [`${count.toLocaleString('en')} ${count === 1 ? one : many}`] : []
}
