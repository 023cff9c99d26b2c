import type { Clock } from '../shared/clock.ts'
import type { Config } from './config/config.ts'
import { KeyDirectory } from './keys/directory.ts'
import { EarnedBans } from './records/earned-bans.ts'
import { Quotas } from './limits/quotas.ts'
import { Meters } from './records/meters.ts'
import { Strangers } from './limits/strangers.ts'
import { greet } from './stores/greet.ts'
import { openStores, type Stores } from './stores/open.ts'
import { Tallying } from './records/tallying.ts'
import { Tunnels } from './forwarding/tunnels.ts'
import { Upstreams } from './forwarding/registry.ts'

/** The part of a logger that is used outside of requests. */
export type Log = Readonly<{
  info: (about: object, message: string) => void
  warn: (about: object, message: string) => void
  error: (about: object, message: string) => void
}>

export type CoreOptions = Readonly<{
  config: Config
  /** Where keys are kept; by default what the configuration says, closed with the core. */
  stores?: Stores | undefined
  clock: Clock
  log: Log
}>

/** What outlives a configuration: who is known, what is counted, and what is open behind. */
export type Core = Readonly<{
  stores: Stores
  directory: KeyDirectory
  quotas: Quotas
  strangers: Strangers
  tallying: Tallying
  earnedBans: EarnedBans
  upstreams: Upstreams
  tunnels: Tunnels
  meters: Meters
  /** Lets requests that are on their way finish, then writes down and closes everything. */
  close(): Promise<void>
}>

/** Opens it all; a store that can't be reached is waited for, but not for long. */
export async function openCore({ config, stores: given, clock, log }: CoreOptions): Promise<Core> {
  const stores = given ?? openStores(config.store)
  const opened: { directory?: KeyDirectory } = {}
  const endGreeting = greet({ stores, isMet: () => opened.directory?.isMet ?? false, log })
  await stores.ready()
  for (const warning of stores.warnings) log.warn({}, warning)
  const meters = new Meters()
  const trouble =
    (what: string) =>
    (err: Error | undefined): void =>
      err
        ? log.error({ err, store: stores.waitsFor(err) }, what)
        : log.info({}, `no longer: ${what}`)
  const { whenUnreachable } = config.store
  const directory = new KeyDirectory({
    store: stores.keys,
    cacheSize: config.keys.cache,
    clock,
    meters,
    trouble: trouble('the key store is out of reach; known keys go on working'),
  })
  opened.directory = directory
  const tunnels = new Tunnels({
    directory,
    quotas: { isBanned: (caller) => quotas.isBanned(caller) },
    clock,
  })
  const quotas: Quotas = new Quotas({
    banned: (key) => tunnels.end(key),
    store: stores.quota,
    whenUnreachable,
    clock,
    meters,
    trouble: trouble(
      stores.quota.isLocal
        ? 'counters can’t be written down; they go on in memory'
        : `the quota store is out of reach; until it is back: ${whenUnreachable}`,
    ),
  })
  const tallying = new Tallying({
    store: stores.tallies,
    clock,
    trouble: trouble('what keys do can’t be written down; it is kept in memory'),
  })
  const earnedBans = new EarnedBans({
    store: stores.audit,
    clock,
    missing: (key, err) => log.error({ key, err }, 'a ban is missing in the audit'),
  })
  const upstreams = new Upstreams(
    {
      out: (upstream, target, err) =>
        log.error({ upstream, target, err }, 'a target is taken out: it failed too often'),
      back: (upstream, target) => log.info({ upstream, target }, 'a target is let back in'),
    },
    meters,
  )
  return {
    stores,
    directory,
    quotas,
    strangers: new Strangers(config.strangers, clock, (code) => meters.strangers.add(code, '')),
    tallying,
    earnedBans,
    upstreams,
    tunnels,
    meters,
    async close() {
      endGreeting()
      await upstreams.close()
      tunnels.close()
      await tallying.close()
      await earnedBans.close()
      directory.close()
      quotas.close()
      if (!given) await stores.close()
    },
  }
}
