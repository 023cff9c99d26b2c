import type { Clock } from '../../shared/clock.ts'
import type { RedisSettings, StoreSettings } from '../config/config.ts'
import { openGatewayFile } from './embedded/database.ts'
import { embeddedAudit } from './embedded/audit.ts'
import { embeddedKeys } from './embedded/keys.ts'
import { EmbeddedQuotas } from './embedded/quota.ts'
import { embeddedTallies } from './embedded/tallies.ts'
import type { AuditStore } from '../records/audit-store.ts'
import type { KeyStore } from '../keys/store.ts'
import { keysIn } from './left-behind.ts'
import type { QuotaStore } from '../limits/store.ts'
import type { TallyStore } from '../records/tally-store.ts'
import { redisAudit } from './redis/audit.ts'
import { Breaker } from './redis/breaker.ts'
import { connect, whenReady } from './redis/connect.ts'
import { plainCause, redisName } from './redis/name.ts'
import { Patience } from './redis/patience.ts'
import { redisKeys } from './redis/keys.ts'
import { redisQuotas } from './redis/quota.ts'
import { within } from './redis/script.ts'
import { redisTallies } from './redis/tallies.ts'

/** Everything that outlives a request, and a configuration. */
export type Stores = Readonly<{
  keys: KeyStore
  quota: QuotaStore
  tallies: TallyStore
  audit: AuditStore
  /** What whoever runs the gateway should know of them. */
  warnings: readonly string[]
  /** Resolves when they can be asked, or when waiting for that is no use any more. */
  ready(): Promise<void>
  /** Which store can't be asked, and why in plain words, with what somebody has met who asked. */
  waitsFor(error?: Error): string
  /** A warning if these stores have no keys, while the file of the same configuration has some. */
  leftBehind(): Promise<string | undefined>
  close(): Promise<void>
}>

export type OpenOptions = Readonly<{
  /** For a command line: it waits for a store, and counts nothing. */
  visits?: boolean
  clock?: Clock
}>

/** How long what a probe has written stays there. */
const probeKeptMs = 10_000

/** How long a command line waits for a store. */
const visitTimeoutMs = 5_000

function shared(file: string): string {
  return `another gateway counts in ${file}: each allows a caller its whole limit. For several gateways, use Redis.`
}

/** Opens the stores that a configuration names: in Redis, or in the gateway's own file. */
export function openStores(settings: StoreSettings, options: OpenOptions = {}): Stores {
  const { visits = false, clock = Date.now } = options
  const { close: end, ...stores } = settings.redis ? inRedis() : inFile()
  const close = async (): Promise<void> => {
    await Promise.all([stores.keys.close(), stores.quota.close()])
    end()
  }
  return { ...stores, close }

  function inRedis() {
    const { redis, prefix } = settings
    if (!redis) throw new Error('no Redis is named')
    const timeoutMs = visits ? visitTimeoutMs : settings.timeoutMs
    const connection = connect(redis, { timeoutMs, patient: visits })
    const patience = new Patience(timeoutMs)
    // A write, as little as one can be: what is full or a replica passes everything else.
    const breaker = visits
      ? undefined
      : new Breaker(() =>
          within(patience, (answered, failed) => {
            const written = connection.set(`${prefix}probe`, Date.now(), 'PX', probeKeptMs)
            written.then(answered, failed)
          }),
        )
    let lastError: unknown
    connection.on('error', (error: unknown) => (lastError = error))
    connection.on('ready', () => (lastError = undefined))
    const options = { connection, prefix, timeoutMs, breaker }
    const keys = redisKeys({ ...options, clock })
    const close = (): void => {
      breaker?.close()
      connection.disconnect()
    }
    return {
      keys,
      quota: redisQuotas(options),
      tallies: redisTallies(options),
      audit: redisAudit(connection, prefix),
      warnings: [],
      ready: () => whenReady(connection),
      waitsFor: (error?: Error) => `${redisName(redis)}: ${plainCause(lastError ?? error)}`,
      leftBehind: () => leftBehind(keys, redis),
      close,
    }
  }

  function inFile() {
    const { file } = settings
    const database = openGatewayFile(file)
    const keys = embeddedKeys(database, clock)
    // A connection of its own, because counters need less of the disk than keys do.
    const quota = new EmbeddedQuotas(openGatewayFile(file), { clock, visits })
    const ready = (): Promise<void> => Promise.resolve()
    // Usage may lose a moment in a power cut, and is written often: it doesn't wait for the disk.
    const usage = openGatewayFile(file)
    usage.pragma('synchronous = NORMAL')
    const warnings = quota.isAlone ? [] : [shared(file)]
    return {
      keys,
      quota,
      tallies: embeddedTallies(usage),
      audit: embeddedAudit(database),
      warnings,
      ready,
      waitsFor: () => file,
      leftBehind: () => Promise.resolve(undefined),
      close: () => void usage.close(),
    }
  }

  async function leftBehind(keys: KeyStore, redis: RedisSettings): Promise<string | undefined> {
    const { file } = settings
    const count = keysIn(file)
    if (count === 0) return undefined
    for await (const names of keys.names()) if (names.length > 0) return undefined
    return (
      `the configuration names ${redisName(redis)}, which has no keys, while ${file} has ` +
      `${count.toLocaleString('en')}: their callers get 401. To bring them over: tollgate store copy --from ${file}`
    )
  }
}
