import { answerOf } from './answer.ts'
import { isCluster } from './library.ts'
import { recordOf } from '../../keys/record.ts'
import { dayMs } from '../../../../shared/windows.ts'
import { auditText, rememberedEntries, type AuditEntry } from '../../records/audit-store.ts'
import { clashOf } from '../clash.ts'
import { counted, type CopyGoal, type StoredQuota } from '../copy.ts'
import { mergedAudit } from '../merge.ts'
import { mostTokens } from '../../keys/last-use-store.ts'
import { rememberedDays } from '../../counts/tally-store.ts'
import type { QuotaPeaks } from '../../counts/peak-store.ts'
import { RedisKeys } from './keys.ts'
import type { RedisLocation } from './copy-source.ts'
import { keepPeaksSeconds, peakHash, peaksText } from './peaks.ts'
import { hashOfState } from './quota-hash.ts'
import { redisLedger } from './ledger.ts'
import { lastUsesName } from './last-uses.ts'
import { mastersOf, scanned } from './scan.ts'
import { keyedScript, script } from './script.ts'
import { scriptTime } from './script-time.ts'

/** The most entries per script call, so that a call never delays decisions for long. */
const batchSize = 200

/** The most quotas with up to 90 days each per script call: merging one with what is stored takes some 0.1 ms. */
const peaksAtOnce = 20

/** The number of calls under way at a time. */
const laneCount = 4

/** The time limit of a call. It is long, because only the copy waits. */
const timeoutMs = 10_000

/** Redis as the goal of a copy. Gateways may serve from it meanwhile. */
export function redisGoal({ name, connection, prefix, clock }: RedisLocation): CopyGoal {
  const ofKeys = (what: string): string => `${prefix}{keys}:${what}`
  const [secrets, records, versions] = [ofKeys('secrets'), ofKeys('records'), ofKeys('versions')]
  const [version, channel, linedUpTo] = [ofKeys('version'), ofKeys('changed'), ofKeys('lined')]
  const [bans, audit] = [`${prefix}bans`, `${prefix}audit`]
  // In the same slot of a Cluster as the audit, so that RENAME can replace it.
  const newAudit = prefix.includes('{') ? `${audit}:copy` : `{${audit}}:copy`
  const scripts = { connection, timeoutMs }
  const ledger = redisLedger({ connection, prefix })
  const putKeys = script({ ...scripts, file: 'copy-keys.lua' }, [
    secrets,
    records,
    versions,
    version,
    linedUpTo,
  ])
  const putQuotas = keyedScript({ ...scripts, file: 'copy-quotas.lua' })
  const putTallies = keyedScript({ ...scripts, file: 'copy-tallies.lua' })
  const putPeaks = keyedScript({ ...scripts, file: 'copy-peaks.lua' })
  const noteUses = script({ ...scripts, file: 'last-uses-note.lua' }, [lastUsesName(prefix)])
  const replaceAudit = script({ ...scripts, file: 'copy-audit.lua' }, [audit, newAudit])

  return {
    name,

    async contents() {
      const [keys, lines] = await Promise.all([
        answerOf(connection.hlen(records)),
        answerOf(connection.xlen(audit)),
      ])
      return [
        ...counted(keys, 'key', 'keys'),
        ...((await hasQuotas()) ? ['counters'] : []),
        ...((await hasTallies()) ? ['usage'] : []),
        ...counted(lines, 'line of audit', 'lines of audit'),
      ]
    },

    async clashes(keys) {
      if (keys.length === 0) return []
      const ids = keys.map(({ key }) => key.id)
      const hashes = keys.flatMap(({ key }) => key.secrets.map(({ hash }) => hash))
      const [storedVersions, holders] = await Promise.all([
        answerOf(connection.zmscore(versions, ...ids)),
        hashes.length > 0 ? answerOf(connection.hmget(secrets, ...hashes)) : [],
      ])
      const holderOf = new Map(hashes.map((hash, index) => [hash, holders[index]]))
      return keys.flatMap((each, index) => {
        const stored = storedVersions[index]
        const version = typeof stored === 'string' ? Number(stored) : undefined
        return clashOf(each, version, (hash) => holderOf.get(hash)) ?? []
      })
    },

    async putKeys(keys) {
      let added = 0
      await inBatches(keys, batchSize, async (batch) => {
        const args = batch.flatMap(({ key, version }) => {
          const hashes = key.secrets.map(({ hash }) => hash)
          return [key.id, version, recordOf(key), hashes.length, ...hashes]
        })
        const answer = Number(await putKeys(channel, ...args))
        const clash = answer < 0 ? batch[-answer - 1]?.key.id : undefined
        if (clash !== undefined)
          throw new Error(`a token of the key ${clash} belongs to another key`)
        added += answer
      })
      return added
    },

    async putQuotas(quotas) {
      const most = isCluster(connection) ? 1 : batchSize
      await inBatches(quotas, most, async (batch) => {
        const args = batch.flatMap(({ state, keepUntilMs }) => {
          const { counters, fields } = hashOfState(state)
          return [counters, Math.ceil(keepUntilMs), fields.length, ...fields.flat()]
        })
        const hashes = batch.map(({ quota }) => `${prefix}quota:${quota}`)
        await putQuotas(hashes, scriptTime(undefined), ...args)
      })
      const running = bansOf(quotas, clock())
      if (running.length > 0) await answerOf(connection.zadd(bans, ...running))
    },

    async putTallies(tallies) {
      const today = Math.floor(clock() / dayMs)
      for (const day of new Set(tallies.map((tally) => tally.day))) {
        const ofDay = tallies.filter((tally) => tally.day === day)
        const keepSeconds = (day - today + rememberedDays + 1) * 86_400
        await inBatches(ofDay, batchSize, async (batch) => {
          const args = batch.flatMap(({ key, what, count, lastMs }) => [
            `${key} ${what}`,
            count,
            lastMs,
          ])
          await putTallies([`${prefix}{tallies:${day}}`], keepSeconds, ...args)
        })
      }
    },

    async putPeaks(peaks) {
      const byHash = new Map<string, QuotaPeaks[]>()
      for (const each of peaks) {
        const hash = peakHash(prefix, each.quota)
        byHash.set(hash, [...(byHash.get(hash) ?? []), each])
      }
      for (const [hash, some] of byHash) {
        await inBatches(some, peaksAtOnce, async (batch) => {
          const args = batch.flatMap((each) => [each.quota, peaksText(each)])
          await putPeaks(hash, rememberedDays, keepPeaksSeconds, ...args)
        })
      }
    },

    async putLedger(closed) {
      await ledger.begin(closed.day)
      await ledger.close(closed)
    },

    async putLastUses(all) {
      const triples = all.flatMap(({ key, uses }) => [...uses].map((use) => [key, ...use]))
      await inBatches(triples, batchSize, async (batch) => {
        // The same time for both clocks: those of the other store stay as they are.
        await noteUses(0, 0, mostTokens, '', ...batch.flat())
      })
    },

    async putAudit(entries) {
      const lines = await answerOf(connection.xrange(audit, '-', '+'))
      const idByText = new Map(lines.map(([id, fields]) => [fields[1] ?? '', id]))
      const merged = mergedAudit([...idByText.keys()], entries).slice(-rememberedEntries)
      if (merged.length === 0) return
      await answerOf(connection.del(newAudit))
      const placed = placedIn(merged, idByText)
      await inBatches(
        placed,
        batchSize,
        async (batch) => {
          await Promise.all(
            batch.map(({ id, text }) => answerOf(connection.xadd(newAudit, id, 'entry', text))),
          )
        },
        1,
      )
      await replaceAudit(lines.at(-1)?.[0] ?? '0-0')
    },

    finish: () => new RedisKeys({ connection, prefix, timeoutMs }).index.catchUp(),

    close() {
      connection.disconnect()
      return Promise.resolve()
    },
  }

  async function hasQuotas(): Promise<boolean> {
    for (const server of mastersOf(connection)) {
      for await (const names of scanned(server, `${prefix}quota:`))
        if (names.length > 0) return true
    }
    return false
  }

  async function hasTallies(): Promise<boolean> {
    const today = Math.floor(clock() / dayMs)
    const days = Array.from({ length: rememberedDays }, (_, back) => today - back)
    const counts = await Promise.all(
      days.map((day) => answerOf(connection.exists(`${prefix}{tallies:${day}}`))),
    )
    return counts.some((count) => count > 0)
  }
}

/** The running bans as arguments of ZADD: score, then member. */
function bansOf(quotas: readonly StoredQuota[], nowMs: number): (string | number)[] {
  return quotas.flatMap(({ quota, state }) =>
    [...(state.conducts ?? [])].flatMap(([key, { bannedUntilMs }]) =>
      bannedUntilMs > nowMs ? [bannedUntilMs, JSON.stringify([key, quota])] : [],
    ),
  )
}

/**
 * Lines of a stream with rising ids: stored lines keep theirs, the others get one from their time. So a
 * reader that follows the stream isn't given lines older than those it has read.
 */
function placedIn(
  entries: readonly AuditEntry[],
  idByText: ReadonlyMap<string, string>,
): { id: string; text: string }[] {
  const lines = entries.map((entry) => {
    const text = auditText(entry)
    const [ms = entry.atMs, number = 0] = (idByText.get(text) ?? '')
      .split('-')
      .filter(Boolean)
      .map(Number)
    return { text, ms, number }
  })
  lines.sort((a, b) => a.ms - b.ms || a.number - b.number)
  let [lastMs, lastNumber] = [0, 0]
  return lines.map(({ text, ms, number }) => {
    const isLater = ms > lastMs || (ms === lastMs && number > lastNumber)
    ;[lastMs, lastNumber] = isLater ? [ms, number] : [lastMs, lastNumber + 1]
    return { id: `${lastMs}-${lastNumber}`, text }
  })
}

/** Puts items in batches, several of them at a time. */
async function inBatches<Item>(
  items: readonly Item[],
  size: number,
  put: (batch: readonly Item[]) => Promise<void>,
  lanes: number = laneCount,
): Promise<void> {
  let start = 0
  const lane = async (): Promise<void> => {
    while (start < items.length) {
      const batch = items.slice(start, start + size)
      start += size
      await put(batch)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
