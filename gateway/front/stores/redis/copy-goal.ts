import { scriptTime } from './script-time.ts'
import type { StoredKey } from '../../keys/key.ts'
import { recordOf } from '../../keys/record.ts'
import { rememberedDays, tallySpace } from '../../counts/tally-store.ts'
import { dayMs } from '../../../../shared/windows.ts'
import { clashOf } from '../clash.ts'
import { counted, type CopyGoal, type KeyClash, type Puts, type StoredQuota } from '../copy.ts'
import { putsOfDays } from '../copy-days.ts'
import { recordsOn } from '../records.ts'
import { answerOf } from './answer.ts'
import { putAudit } from './copy-audit.ts'
import type { RedisLocation } from './copy-source.ts'
import { batchSize, inBatches } from './in-batches.ts'
import { RedisKeys } from './keys.ts'
import { putLastUses } from './last-uses.ts'
import { redisLedger } from './ledger.ts'
import { isCluster } from './library.ts'
import { hashOfState } from './quota-hash.ts'
import { mastersOf, scanned } from './scan.ts'
import { keyedScript, script, type RedisOptions } from './script.ts'
import { layoutOf } from './count-layout.ts'
import { redisCounts } from './counts.ts'

/** The time limit of a call. It is long, because only the copy waits. */
const timeoutMs = 10_000

/** Redis as the goal of a copy. Gateways may serve from it meanwhile. */
export function redisGoal(location: RedisLocation): CopyGoal {
  const { name, connection, prefix, format } = location
  const added = { keys: 0 }
  const options = { connection, prefix, timeoutMs }
  const puts: Puts = {
    quotas: putQuotas(location),
    ...putsOfDays({
      ...recordsOn(redisCounts(options)),
      ledger: redisLedger(options),
    }),
    lastUses: putLastUses(options),
    audit: putAudit(options),
    keys: putKeys(options, added),
  }
  return {
    name,
    get newKeys() {
      return added.keys
    },
    contents: () => contentsOf(location),
    clashes: (keys) => clashesIn(options, keys),
    async put(name, items) {
      // The record of the store comes before anything else.
      await format.look()
      await puts[name](items)
    },
    finish: () => new RedisKeys(options).index.catchUp(),
    close() {
      connection.disconnect()
      return Promise.resolve()
    },
  }
}

async function contentsOf(location: RedisLocation): Promise<string[]> {
  const { connection, prefix } = location
  const [keys, lines] = await Promise.all([
    answerOf(connection.hlen(`${prefix}{keys}:records`)),
    answerOf(connection.xlen(`${prefix}audit`)),
  ])
  return [
    ...counted(keys, 'key', 'keys'),
    ...((await hasQuotas(location)) ? ['counters'] : []),
    ...((await hasTallies(location)) ? ['usage'] : []),
    ...counted(lines, 'line of audit', 'lines of audit'),
  ]
}

async function hasQuotas({ connection, prefix }: RedisLocation): Promise<boolean> {
  for (const server of mastersOf(connection)) {
    for await (const names of scanned(server, `${prefix}quota:`)) if (names.length > 0) return true
  }
  return false
}

async function hasTallies({ connection, prefix, clock }: RedisLocation): Promise<boolean> {
  const today = Math.floor(clock() / dayMs)
  const days = Array.from({ length: rememberedDays }, (_, back) => today - back)
  const counts = await Promise.all(
    days.map((day) => answerOf(connection.exists(layoutOf(prefix, tallySpace).hash(day)))),
  )
  return counts.some((count) => count > 0)
}

async function clashesIn(
  { connection, prefix }: RedisOptions,
  keys: readonly StoredKey[],
): Promise<KeyClash[]> {
  if (keys.length === 0) return []
  const ids = keys.map(({ key }) => key.id)
  const hashes = keys.flatMap(({ key }) => key.secrets.map(({ hash }) => hash))
  const [storedVersions, holders] = await Promise.all([
    answerOf(connection.zmscore(`${prefix}{keys}:versions`, ...ids)),
    hashes.length > 0 ? answerOf(connection.hmget(`${prefix}{keys}:secrets`, ...hashes)) : [],
  ])
  const holderOf = new Map(hashes.map((hash, index) => [hash, holders[index]]))
  return keys.flatMap((each, index) => {
    const stored = storedVersions[index]
    const version = typeof stored === 'string' ? Number(stored) : undefined
    return clashOf(each, version, (hash) => holderOf.get(hash)) ?? []
  })
}

function putKeys(options: RedisOptions, added: { keys: number }): Puts['keys'] {
  const ofKeys = (what: string): string => `${options.prefix}{keys}:${what}`
  const names = ['secrets', 'records', 'versions', 'version', 'lined'].map(ofKeys)
  const put = script({ ...options, file: 'copy-keys.lua' }, names)
  return (keys) =>
    inBatches(keys, batchSize, async (batch) => {
      const args = batch.flatMap(({ key, version }) => {
        const hashes = key.secrets.map(({ hash }) => hash)
        return [key.id, version, recordOf(key), hashes.length, ...hashes]
      })
      const answer = Number(await put(ofKeys('changed'), ...args))
      const clash = answer < 0 ? batch[-answer - 1]?.key.id : undefined
      if (clash !== undefined) throw new Error(`a token of the key ${clash} belongs to another key`)
      added.keys += answer
    })
}

function putQuotas({ connection, prefix, clock }: RedisLocation): Puts['quotas'] {
  const put = keyedScript({ connection, timeoutMs, file: 'copy-quotas.lua' })
  return async (quotas) => {
    await inBatches(quotas, isCluster(connection) ? 1 : batchSize, async (batch) => {
      const args = batch.flatMap(({ state, keepUntilMs }) => {
        const { counters, fields } = hashOfState(state)
        return [counters, Math.ceil(keepUntilMs), fields.length, ...fields.flat()]
      })
      const hashes = batch.map(({ quota }) => `${prefix}quota:${quota}`)
      await put(hashes, scriptTime(), ...args)
    })
    const running = bansOf(quotas, clock())
    if (running.length > 0) await answerOf(connection.zadd(`${prefix}bans`, ...running))
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
