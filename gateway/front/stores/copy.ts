import type { StoredKey } from '../keys/key.ts'
import type { QuotaState } from '../limits/step.ts'
import { isDeprecatedCall } from '../counts/deprecated-calls.ts'
import type { AuditEntry } from '../records/audit-store.ts'
import { beginning, type KeyUses } from '../keys/last-use-store.ts'
import type { QuotaPeaks } from '../counts/peak-store.ts'
import type { ClosedDay } from '../records/ledger-store.ts'
import type { Tally } from '../counts/tally-store.ts'

/** A quota, and the time after which its state no longer matters. */
export type StoredQuota = Readonly<{ quota: string; state: QuotaState; keepUntilMs: number }>

/** The value of a key in a store of last uses, or its beginning. */
export type StoredUses = Readonly<{ key: string; uses: KeyUses }>

/**
 * Reads a store for a copy, while gateways may serve from it. Damaged entries are left out. Batches are
 * small enough to keep neither reader nor writer busy for long.
 */
export interface CopySource {
  /** Its name in messages; never with a password. */
  readonly name: string
  /** The number of damaged entries so far. */
  readonly damaged: number
  /** The gateways that serve from it now, by name; a file doesn't tell the name of its one. */
  gateways(): Promise<readonly string[]>
  keyCount(): Promise<number>
  /** By version, the lowest first. A key that changes during the copy may come again, in its new version. */
  keys(): AsyncIterable<readonly StoredKey[]>
  /** The quotas that still matter. One may come twice. */
  quotas(): AsyncIterable<readonly StoredQuota[]>
  /** The tallies of all remembered days. One may come twice. */
  tallies(): AsyncIterable<readonly Tally[]>
  /** The peaks of all remembered days, some quotas at a time. */
  peaks(): AsyncIterable<readonly QuotaPeaks[]>
  /** The closed days of the ledger, the oldest first. */
  ledger(): AsyncIterable<ClosedDay>
  /** The last uses of all keys, and since when they are noted. One may come twice. */
  lastUses(): AsyncIterable<readonly StoredUses[]>
  /** The oldest first. */
  audit(): AsyncIterable<readonly AuditEntry[]>
  close(): Promise<void>
}

/** Why a key can't be copied: the goal has another version of it, or its secret under another key. */
export type KeyClash = Readonly<{ key: string; why: string }>

/**
 * Writes a copy into a store. An entry that is put twice is stored once, and counts never become less, so
 * a copy that was interrupted can be repeated.
 */
export interface CopyGoal {
  readonly name: string
  /** A summary of its content, such as `5 keys`; empty for an empty store. */
  contents(): Promise<readonly string[]>
  /** The keys that can't be put. A key that is stored in the same version can. */
  clashes(keys: readonly StoredKey[]): Promise<readonly KeyClash[]>
  /** Puts keys with their versions, in place of earlier versions; gives the number of new keys. */
  putKeys(keys: readonly StoredKey[]): Promise<number>
  /** Puts quotas. Of one that is stored already, the larger count of each window wins. */
  putQuotas(quotas: readonly StoredQuota[]): Promise<void>
  /** Puts tallies. Of one that is stored already, the larger count wins. */
  putTallies(tallies: readonly Tally[]): Promise<void>
  /** Puts peaks. Of a day that is stored already, the larger numbers win. */
  putPeaks(peaks: readonly QuotaPeaks[]): Promise<void>
  /** Puts closed days of the ledger. One that is closed already stays as it is. */
  putLedger(day: ClosedDay): Promise<void>
  /** Puts last uses. Of a token that is stored already, the later one wins. */
  putLastUses(uses: readonly StoredUses[]): Promise<void>
  /** Puts lines of the audit among the stored ones, by their time. */
  putAudit(entries: readonly AuditEntry[]): Promise<void>
  /** Makes the copy permanent. Without it the goal may be incomplete. */
  finish(): Promise<void>
  close(): Promise<void>
}

export type CopyOptions = Readonly<{
  /** Whether the goal may have content already. */
  intoNonEmpty?: boolean
  /** Counts what would be copied, and writes nothing. */
  isDryRun?: boolean
  nowMs: number
  /** The operator, for the audit of the goal. */
  by: string
  /** Called with the number of copied entries, and with their total where it is known. */
  progress?: (what: 'keys' | 'quotas' | 'usage' | 'peaks', done: number, total?: number) => void
}>

/** The numbers of entries that were copied, or would be in a dry run. */
export type Copied = Readonly<{
  keys: number
  /** Keys that the goal had already in the same version. */
  alreadyThere: number
  quotas: number
  bans: number
  usage: number
  deprecatedCalls: number
  /** Quotas of which the highest use is known, by day. */
  peaks: number
  /** Closed days of the ledger. */
  ledgerDays: number
  /** Keys of which the last use is known. */
  lastUses: number
  audit: number
  damaged: number
}>

/** The most keys that a message about clashes names. */
const mostClashes = 5

/**
 * Copies all content of a store to another one. Keys come last, so that no key works before its bans and
 * counters are there. Throws before anything is written if the goal isn't empty and has to be, or if it
 * has clashing keys.
 */
export async function copyStore(
  source: CopySource,
  goal: CopyGoal,
  { intoNonEmpty = false, isDryRun = false, nowMs, by, progress }: CopyOptions,
): Promise<Copied> {
  const contents = await goal.contents()
  if (contents.length > 0) {
    if (!intoNonEmpty) {
      throw new Error(
        `${goal.name} isn't empty: it has ${contents.join(', ')}. Nothing was written. Name an empty ` +
          'store, or use --into-non-empty to add to this one',
      )
    }
    await requireNoClash(source, goal)
  }
  const copied = {
    keys: 0,
    quotas: 0,
    bans: 0,
    usage: 0,
    deprecatedCalls: 0,
    peaks: 0,
    ledgerDays: 0,
    lastUses: 0,
    audit: 0,
  }
  let newKeys = 0
  for await (const batch of source.quotas()) {
    if (!isDryRun) await goal.putQuotas(batch)
    copied.quotas += batch.length
    copied.bans += batch.reduce((sum, { state }) => sum + bansIn(state, nowMs), 0)
    progress?.('quotas', copied.quotas)
  }
  for await (const batch of source.tallies()) {
    if (!isDryRun) await goal.putTallies(batch)
    const deprecated = batch.filter(({ what }) => isDeprecatedCall(what)).length
    copied.deprecatedCalls += deprecated
    copied.usage += batch.length - deprecated
    progress?.('usage', copied.usage + copied.deprecatedCalls)
  }
  for await (const batch of source.peaks()) {
    if (!isDryRun) await goal.putPeaks(batch)
    copied.peaks += batch.length
    progress?.('peaks', copied.peaks)
  }
  for await (const day of source.ledger()) {
    if (!isDryRun) await goal.putLedger(day)
    copied.ledgerDays++
  }
  for await (const batch of source.lastUses()) {
    if (!isDryRun) await goal.putLastUses(batch)
    copied.lastUses += batch.filter(({ key }) => key !== beginning.key).length
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
    if (copied.keys < total) progress?.('keys', copied.keys, total)
  }
  progress?.('keys', total, total)
  if (!isDryRun) await goal.finish()
  const alreadyThere = copied.keys - newKeys
  return { ...copied, keys: newKeys, alreadyThere, damaged: source.damaged }
}

async function requireNoClash(source: CopySource, goal: CopyGoal): Promise<void> {
  const clashes: KeyClash[] = []
  let count = 0
  for await (const batch of source.keys()) {
    const ofBatch = await goal.clashes(batch)
    count += ofBatch.length
    clashes.push(...ofBatch.slice(0, mostClashes - clashes.length))
  }
  if (count === 0) return
  const more =
    count > clashes.length ? `\nand ${(count - clashes.length).toLocaleString('en')} more` : ''
  throw new Error(
    `${goal.name} has keys that clash with these, and nothing was written:\n` +
      clashes.map(({ key, why }) => `${key}: ${why}`).join('\n') +
      more,
  )
}

function bansIn({ conducts }: QuotaState, nowMs: number): number {
  let count = 0
  for (const { bannedUntilMs } of conducts?.values() ?? []) if (bannedUntilMs > nowMs) count++
  return count
}

/** A count in words, such as `1 key` or `2,000 keys`; empty for 0. */
export function counted(count: number, one: string, many: string): string[] {
  return count > 0 ? [`${count.toLocaleString('en')} ${count === 1 ? one : many}`] : []
}
