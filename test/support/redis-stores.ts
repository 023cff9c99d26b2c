import type { Test } from 'tap'
import type { RedisSettings, StoreSettings } from '../../gateway/front/config/config.ts'
import { fleetOn, type SharedFleet } from '../../gateway/front/fleet/shared-fleet.ts'
import { openStores } from '../../gateway/front/stores/open.ts'
import { connect, type Connection } from '../../gateway/front/stores/redis/connect.ts'
import { redisDocuments } from '../../gateway/front/stores/redis/documents.ts'
import { redisFormat } from '../../gateway/front/stores/redis/format.ts'
import { redisKeys } from '../../gateway/front/stores/redis/keys.ts'
import { redisLastUses } from '../../gateway/front/stores/redis/last-uses.ts'
import { redisQuotas } from '../../gateway/front/stores/redis/quota.ts'
import type { TwoKeys } from '../../gateway/contracts/keys.ts'
import type { LastUseViews } from '../contracts/last-uses.ts'
import type { LedgerViews } from '../contracts/ledger.ts'
import type { MovableQuotas } from '../../gateway/contracts/tried-quotas.ts'
import { until } from './until.ts'

const timeoutMs = 2_000

/** The number of stores that were opened under prefixes of their own. */
let opened = 0

/** A connection as a gateway has it, once names of all slots are answered: a new Cluster may still be settling. */
export async function connectionTo(t: Test, settings: RedisSettings): Promise<Connection> {
  const connection = connect(settings, { timeoutMs })
  t.teardown(() => connection.disconnect())
  await until(() => connection.status === 'ready')
  await until(async () => {
    const asked = Array.from({ length: 50 }, (_, i) => connection.get(`settled-${i}`))
    return (await Promise.allSettled(asked)).every(({ status }) => status === 'fulfilled')
  })
  return connection
}

/** Two views of one store, each through a connection of its own, as two gateways have them. */
export async function twoViews<Store>(
  t: Test,
  settings: RedisSettings,
  open: (connection: Connection) => Store,
): Promise<Readonly<{ first: Store; second: Store }>> {
  const [first, second] = [await connectionTo(t, settings), await connectionTo(t, settings)]
  return { first: open(first), second: open(second) }
}

/** Two views of the keys under a prefix; by default one that no others are under. */
export async function keyViews(
  t: Test,
  settings: RedisSettings,
  prefix = `keys-${++opened}:`,
): Promise<TwoKeys> {
  const ends: (() => Promise<void>)[] = []
  const views = await twoViews(t, settings, (connection) => {
    const format = redisFormat(connection, prefix)
    format.guard()
    const store = redisKeys({ connection, prefix, timeoutMs, format })
    ends.push(async () => {
      await store.close()
      connection.disconnect()
    })
    return store
  })
  const close = async (): Promise<void> => void (await Promise.all(ends.map((end) => end())))
  t.teardown(close)
  return { ...views, close }
}

/** Quotas by a clock that a test moves, without any at first. */
export async function movableQuotas(t: Test, settings: RedisSettings): Promise<MovableQuotas> {
  const prefix = `quotas-${++opened}:`
  const ends: (() => Promise<void>)[] = []
  let now = 0
  const open = async () => {
    const connection = await connectionTo(t, settings)
    const store = redisQuotas({ connection, prefix, timeoutMs, testClock: () => now })
    ends.push(async () => {
      await store.close()
      connection.disconnect()
    })
    return store
  }
  return {
    store: await open(),
    setTime: (ms) => (now = ms),
    reopen: open,
    close: async () => void (await Promise.all(ends.map((end) => end()))),
  }
}

/** Two views of the last uses under a prefix, by a clock that a test moves. */
export async function lastUseViews(
  t: Test,
  settings: RedisSettings,
  prefix = 'used:',
): Promise<LastUseViews> {
  let now = 0
  const views = await twoViews(t, settings, (connection) =>
    redisLastUses({ connection, prefix, timeoutMs, testClock: () => now }),
  )
  return { ...views, setTime: (ms) => (now = ms) }
}

/** The ledger as two gateways have it, by a clock that a test moves. */
export async function ledgerViews(t: Test, redis: RedisSettings): Promise<LedgerViews> {
  let now = 0
  const parts = { prefix: 'ledger:', timeoutMs }
  const settings: StoreSettings = { ...parts, file: '', redis, whenUnreachable: 'local' }
  const open = async () => {
    const stores = await openStores(settings)
    t.teardown(() => stores.close())
    const connection = await connectionTo(t, redis)
    await stores.ready()
    return { ...stores, quota: redisQuotas({ ...parts, connection, testClock: () => now }) }
  }
  return { first: await open(), second: await open(), setTime: (ms) => (now = ms) }
}

/** Views of one fleet, each with a clock that is an hour late; Redis' own is one that a test moves. */
export async function fleetViews(t: Test, settings: RedisSettings, count: number) {
  let now = 0
  const fleets: SharedFleet[] = []
  while (fleets.length < count) {
    const connection = await connectionTo(t, settings)
    const testClock = () => now
    const documents = redisDocuments({ connection, prefix: 'fleet:', timeoutMs, testClock })
    const fleet = fleetOn(documents, () => now - 3_600_000)
    t.teardown(() => fleet.close())
    fleets.push(fleet)
  }
  return { fleets, setTime: (ms: number) => (now = ms) }
}
