import type { StoreSettings } from '../../config/config.ts'
import { fleetOn } from '../../fleet/shared-fleet.ts'
import type { Documents } from '../../shelves/documents.ts'
import { Breaker } from '../breaker.ts'
import type { IndexedKeys } from '../key-index.ts'
import { recordsOn } from '../records.ts'
import type { OpenOptions, Stores } from '../stores.ts'
import { AnswerTimeouts } from './answer-timeouts.ts'
import { conditionOf } from './condition.ts'
import { connect, renewAccess, whenReady, type Connection } from './connect.ts'
import { redisCounts } from './counts.ts'
import { redisDocuments } from './documents.ts'
import { redisFormat } from './format.ts'
import { redisKeys } from './keys.ts'
import { redisLastUses } from './last-uses.ts'
import { redisLists } from './lists.ts'
import { redisMessages } from './messages.ts'
import { plainCause, redisName } from './name.ts'
import { redisQuotas } from './quota.ts'
import { redisRefusals } from './refusals.ts'
import { redisStrangers } from './strangers.ts'
import { within } from './script.ts'

/** The lifetime of a probe's value. */
const probeKeptMs = 10_000

/** How long one gateway has the task of completing the index of keys to itself. */
const indexingMs = 60_000

/** The time limit of a command line for an answer. */
const commandTimeoutMs = 5_000

/** Opens the stores in the Redis of a configuration. */
export function openInRedis(settings: StoreSettings, options: OpenOptions): Stores {
  const { redis, prefix } = settings
  const { forCommandLine = false, clock = Date.now } = options
  if (!redis) throw new Error('no Redis is named')
  const timeoutMs = forCommandLine ? commandTimeoutMs : settings.timeoutMs
  const connection = connect(redis, { timeoutMs, patient: forCommandLine })
  const breaker = forCommandLine ? undefined : breakerFor(connection, prefix, timeoutMs)
  let lastError: unknown
  connection.on('error', (error: unknown) => (lastError = error))
  connection.on('ready', () => (lastError = undefined))
  const parts = { connection, prefix, timeoutMs, breaker }
  const format = redisFormat(connection, prefix)
  format.guard()
  const keys = redisKeys({ ...parts, clock, format })
  const quota = redisQuotas(parts)
  const shelves = {
    counts: redisCounts(parts),
    lists: redisLists({ connection, prefix, timeoutMs }),
    documents: redisDocuments({ connection, prefix, timeoutMs }),
    messages: redisMessages(connection, prefix),
  }
  const condition = conditionOf(connection, shelves.messages)
  if (!forCommandLine) condition.watch()
  const fleet = fleetOn(shelves.documents, clock)
  // So that the first page doesn't wait for it. If it fails, the first page goes on with it.
  if (!forCommandLine) {
    const complete = (): Promise<void> => completeIndex(keys, shelves.documents)
    connection.once('ready', () => void complete().catch(() => undefined))
  }
  return {
    keys,
    quota,
    ...shelves,
    ...recordsOn(shelves, clock),
    lastUses: redisLastUses(parts),
    refusals: redisRefusals(parts),
    strangers: forCommandLine ? undefined : redisStrangers(parts),
    fleet,
    get warnings() {
      return [...(format.fault ? [format.fault.message] : []), ...condition.warnings]
    },
    async ready() {
      if (!(await whenReady(connection, settings.timeoutMs))) return
      await format.look().catch(() => undefined)
      if (format.fault) throw format.fault
      await condition.look()
    },
    waitsFor: (error?: Error) =>
      `${redisName(redis)}: ${plainCause(lastError ?? format.fault ?? error)}`,
    renew({ redis }) {
      if (redis) renewAccess(connection, redis)
    },
    async close() {
      await Promise.all([keys.close(), quota.close(), fleet.close()])
      condition.close()
      shelves.messages.close()
      breaker?.close()
      connection.disconnect()
    },
  }
}

/** A breaker that asks by the smallest possible write: a full Redis and a replica still answer reads. */
function breakerFor(connection: Connection, prefix: string, timeoutMs: number): Breaker {
  const timeouts = new AnswerTimeouts(timeoutMs)
  return new Breaker(() =>
    within(timeouts, (answered, failed) => {
      const written = connection.set(`${prefix}probe`, Date.now(), 'PX', probeKeptMs)
      written.then(answered, failed)
    }),
  )
}

async function completeIndex({ index }: IndexedKeys, documents: Documents): Promise<void> {
  const options = { keptMs: indexingMs, version: 0 }
  if (!(await documents.put('leases', 'indexing', '', options))) return
  await index.catchUp().finally(() => documents.take('leases', 'indexing'))
}
