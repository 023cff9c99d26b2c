import { withCommas } from '../../../shared/commas.ts'
import type { StoredKey } from '../keys/key.ts'
import type { QuotaState } from '../limits/quota-state.ts'
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

/** The spaces of a store, in the order in which they are copied: no key works before its bans and counters are there. */
const spaceNames = ['quotas', 'tallies', 'peaks', 'ledger', 'lastUses', 'audit', 'keys'] as const

export type SpaceName = (typeof spaceNames)[number]

/** The items of each space. */
export type Spaces = {
  /** The quotas that still matter. */
  quotas: StoredQuota
  /** The tallies of all remembered days. */
  tallies: Tally
  /** The peaks of all remembered days. */
  peaks: QuotaPeaks
  /** The closed days of the ledger, the oldest first. */
  ledger: ClosedDay
  /** The last uses of all keys, and since when they are noted. */
  lastUses: StoredUses
  /** The oldest first. */
  audit: AuditEntry
  /** By version, the lowest first. A key that changes during the copy may come again, in its new version. */
  keys: StoredKey
}

/** Reads of spaces, in batches that are small enough to keep neither reader nor writer busy for long. An item may come twice. */
export type Reads = { readonly [Name in SpaceName]: () => AsyncIterable<readonly Spaces[Name][]> }

/**
 * Puts of spaces. Of an item that is stored already the later state is kept, or the larger counts; a closed day stays as it
 * is. Keys come with their versions, in place of earlier ones.
 */
export type Puts = {
  readonly [Name in SpaceName]: (items: readonly Spaces[Name][]) => Promise<void>
}

/** Reads a store for a copy, while gateways may serve from it. Damaged entries are left out. */
export interface CopySource {
  /** Its name in messages; never with a password. */
  readonly name: string
  /** The number of damaged entries so far. */
  readonly damaged: number
  /** The gateways that serve from it now, by name; a file doesn't tell the name of its one. */
  gateways(): Promise<readonly string[]>
  keyCount(): Promise<number>
  readonly reads: Reads
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
  /** The number of keys so far that it didn't have. */
  readonly newKeys: number
  /** A summary of its content, such as `5 keys`; empty for an empty store. */
  contents(): Promise<readonly string[]>
  /** The keys that can't be put. A key that is stored in the same version can. */
  clashes(keys: readonly StoredKey[]): Promise<readonly KeyClash[]>
  /** Puts items of a space, as `Puts` says. */
  put<Name extends SpaceName>(name: Name, items: readonly Spaces[Name][]): Promise<void>
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
  progress?: (what: string, done: number, total?: number) => void
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

type Counts = { -readonly [Name in Exclude<keyof Copied, 'alreadyThere' | 'damaged'>]: number }

/** How the items of each space are counted and shown. */
const spaces: {
  readonly [Name in SpaceName]: Readonly<{
    count: (copied: Counts, items: readonly Spaces[Name][], nowMs: number) => void
    /** Its name for operators who watch, for a space that takes long. */
    shownAs?: string
  }>
} = {
  quotas: {
    count: (copied, quotas, nowMs) => {
      copied.quotas += quotas.length
      for (const { state } of quotas) copied.bans += bansIn(state, nowMs)
    },
    shownAs: 'quotas',
  },
  tallies: {
    count: (copied, tallies) => {
      const deprecated = tallies.filter(({ what }) => isDeprecatedCall(what)).length
      copied.deprecatedCalls += deprecated
      copied.usage += tallies.length - deprecated
    },
    shownAs: 'usage',
  },
  peaks: { count: (copied, { length }) => (copied.peaks += length), shownAs: 'peaks' },
  ledger: { count: (copied, { length }) => (copied.ledgerDays += length) },
  lastUses: {
    count: (copied, uses) => {
      copied.lastUses += uses.filter(({ key }) => key !== beginning.key).length
    },
  },
  // The line about this copy isn't counted.
  audit: { count: (copied, { length }) => (copied.audit += length - 1) },
  keys: { count: (copied, { length }) => (copied.keys += length), shownAs: 'keys' },
}

/** Copies all content of a store to another one. Throws before anything is written if the goal can't take it. */
export async function copyStore(
  source: CopySource,
  goal: CopyGoal,
  options: CopyOptions,
): Promise<Copied> {
  const { intoNonEmpty = false, isDryRun = false, nowMs, by, progress } = options
  await requireRoom(source, goal, intoNonEmpty)
  const copied: Counts = {
    ...{ keys: 0, quotas: 0, bans: 0, usage: 0, deprecatedCalls: 0 },
    ...{ peaks: 0, ledgerDays: 0, lastUses: 0, audit: 0 },
  }
  const note = { atMs: nowMs, by, what: 'store.copy', subject: goal.name, before: null }
  const noted = { ...note, after: { from: source.name } }
  const reads: Reads = { ...source.reads, audit: () => inOne(source.reads.audit(), noted) }
  const copySpace = async <Name extends SpaceName>(name: Name): Promise<void> => {
    const { count, shownAs = '' } = spaces[name]
    const total = name === 'keys' ? await source.keyCount() : undefined
    const show = (done: number) => shownAs !== '' && progress?.(shownAs, done, total)
    let done = 0
    for await (const batch of reads[name]()) {
      if (!isDryRun) await goal.put(name, batch)
      count(copied, batch, nowMs)
      done += batch.length
      // A store that is read while it serves may have more than it had.
      if (total === undefined || done < total) show(done)
    }
    if (total !== undefined) show(total)
  }
  for (const name of spaceNames) await copySpace(name)
  if (!isDryRun) await goal.finish()
  const keys = isDryRun ? copied.keys : goal.newKeys
  return { ...copied, keys, alreadyThere: copied.keys - keys, damaged: source.damaged }
}

async function* inOne<Item>(batches: AsyncIterable<readonly Item[]>, last: Item) {
  const all: Item[] = []
  for await (const batch of batches) all.push(...batch)
  yield [...all, last]
}

/** Throws if the goal isn't empty and has to be, or if it has clashing keys. */
async function requireRoom(source: CopySource, goal: CopyGoal, intoNonEmpty: boolean) {
  const contents = await goal.contents()
  if (contents.length === 0) return
  if (intoNonEmpty) return requireNoClash(source, goal)
  throw new Error(
    `${goal.name} isn't empty: it has ${contents.join(', ')}. Nothing was written. Name an empty ` +
      'store, or use --into-non-empty to add to this one',
  )
}

async function requireNoClash(source: CopySource, goal: CopyGoal): Promise<void> {
  const clashes: KeyClash[] = []
  let count = 0
  for await (const batch of source.reads.keys()) {
    const ofBatch = await goal.clashes(batch)
    count += ofBatch.length
    clashes.push(...ofBatch.slice(0, mostClashes - clashes.length))
  }
  if (count === 0) return
  const more = count > clashes.length ? `\nand ${withCommas(count - clashes.length)} more` : ''
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
  return count > 0 ? [`${withCommas(count)} ${count === 1 ? one : many}`] : []
}
