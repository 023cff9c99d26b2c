import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import type { Config } from './config/config.ts'
import { noticeDifferences } from './fleet/notice.ts'
import type { Self } from './fleet/self.ts'
import { KeyDirectory } from './keys/directory.ts'
import { EarnedBans } from './records/earned-bans.ts'
import { Quotas } from './limits/quotas.ts'
import { Meters } from './records/meters.ts'
import { Strangers } from './limits/strangers.ts'
import { logStoreAtStart } from './stores/log-store-at-start.ts'
import { StoreWarnings } from './stores/warnings.ts'
import { storeName } from './stores/store-name.ts'
import { collectorTrouble } from '../shared/spans/open.ts'
import { openerOf } from './stores/opener.ts'
import type { Stores } from './stores/stores.ts'
import { LastUses } from './records/last-uses.ts'
import { Tallying } from './records/tallying.ts'
import { RecentRefusals } from './explain/recent-refusals.ts'
import { answerForRefusals } from './explain/refusals-of.ts'
import { Peaks } from './foresight/peaks.ts'
import { Timeline } from './explain/timeline.ts'
import { LedgerKeeper } from './ledger/keeper.ts'
import { LiveCounts } from './live/live-counts.ts'
import { targetFigures } from './live/targets.ts'
import { Watching } from './live/watching.ts'
import type { Siblings } from './mirror/comparison.ts'
import { Comparisons } from './mirror/comparisons.ts'
import { Mirrors } from './mirror/mirrors.ts'
import { Tunnels } from './forwarding/tunnels.ts'
import { Upstreams } from './forwarding/registry.ts'
import { checkFor } from './forwarding/swap-check.ts'
import { Notices } from './notices/notices.ts'
import { Swaps } from './swaps/swaps.ts'
import { Exporters } from './traces/exporters.ts'

export type CoreOptions = Readonly<{
  config: Config
  /** The stores; by default those of the configuration, which are closed with the core. */
  stores?: Stores | undefined
  /** This process, as the fleet hears of it. */
  self: Self
  /** The secret of the gateway's signature, if it signs. */
  secret?: string | undefined
  /** The other workers of this gateway. */
  siblings?: Siblings | undefined
  clock: Clock
  log: Log
}>

/** The parts that outlive a configuration: stores, callers, counters and connections to backends. */
export type Core = Readonly<{
  stores: Stores
  /** Warnings about the store for operators. */
  storeWarnings: StoreWarnings
  directory: KeyDirectory
  quotas: Quotas
  strangers: Strangers
  tallying: Tallying
  recentRefusals: RecentRefusals
  timeline: Timeline
  peaks: Peaks
  /** The latest sums of this gateway. */
  liveCounts: LiveCounts
  /** The latest sums of the whole fleet, for operators who watch. */
  live: Watching
  lastUses: LastUses
  earnedBans: EarnedBans
  upstreams: Upstreams
  swaps: Swaps
  tunnels: Tunnels
  /** The part of this process in comparisons with a would-be backend. */
  mirrors: Mirrors
  comparisons: Comparisons
  /** Events for receivers outside. */
  notices: Notices
  /** The ways of spans to collectors. */
  exporters: Exporters
  meters: Meters
  /** Lets requests under way finish, then saves and closes everything. */
  close(): Promise<void>
}>

/** Opens all parts. Waits for a store a short time, and starts without it, too. */
export async function openCore(options: CoreOptions): Promise<Core> {
  const { config, stores: given, self, secret, siblings, clock, log } = options
  const stores = given ?? (await openerOf(config.store))()
  const opened: { directory?: KeyDirectory } = {}
  const endStartLog = logStoreAtStart({
    stores,
    isMet: () => opened.directory?.isMet ?? false,
    log,
  })
  await stores.ready()
  const storeWarnings = new StoreWarnings({ stores, clock, log })
  const meters = new Meters()
  const trouble =
    (what: string, whenOver: string) =>
    (err: Error | undefined): void =>
      err ? log.error({ err, store: stores.waitsFor(err) }, what) : log.info({}, whenOver)
  const storeOfFleet = storeName(config.store)
  const member = () => self.memberOf(storeOfFleet)
  const notices: Notices = new Notices({
    ...{ stores, config, self: member, counts: meters.notices, clock, log },
    targets: () => targetFigures(upstreams.all),
  })
  const { whenUnreachable } = config.store
  const directory = new KeyDirectory({
    store: stores.keys,
    cacheSize: config.keys.cache,
    clock,
    storeClock: () => quotas.nowMs,
    meters,
    trouble: trouble(
      'the key store is out of reach; cached keys still work',
      'the key store answers again',
    ),
    emptied: (epoch) => {
      meters.emptiedStores++
      storeWarnings.emptied()
      notices.storeEmptied(epoch)
    },
  })
  opened.directory = directory
  const tunnels = new Tunnels({
    directory,
    quotas: { isBanned: (caller) => quotas.isBanned(caller) },
    clock,
  })
  const troubleOfQuotas = stores.quota.isLocal
    ? trouble(
        'counters can’t be written down; they go on in memory',
        'counters are written down again',
      )
    : trouble(
        `the quota store is out of reach; until it is back: ${whenUnreachable}`,
        'the quota store answers again',
      )
  const quotas: Quotas = new Quotas({
    banned: (key) => tunnels.end(key),
    store: stores.quota,
    gateways: () => stores.fleet.size,
    whenUnreachable,
    clock,
    meters,
    trouble: (err) => {
      notices.outage.trouble(err && stores.waitsFor(err))
      troubleOfQuotas(err)
    },
  })
  const strangers = new Strangers({
    ...{ limits: config.strangers, clock, store: stores.strangers },
    onRefused: (code) => meters.strangers.add(code, ''),
  })
  const lastUses = new LastUses({ store: stores.lastUses, clock })
  const timeline = new Timeline(stores.timeline)
  const peaks = new Peaks(stores.peaks)
  const tallying = new Tallying({
    store: stores.tallies,
    beside: [lastUses, timeline, peaks, { write: () => quotas.settle() }],
    clock,
    trouble: trouble(
      'usage can’t be written down; it is kept in memory',
      'usage is written down again',
    ),
  })
  const recentRefusals = new RecentRefusals(clock())
  const ownRefusals = { refusals: recentRefusals, gateway: self.name }
  const endRefusalAnswers = answerForRefusals(stores.questions, ownRefusals)
  const earnedBans = new EarnedBans({
    store: stores.audit,
    clock,
    missing: (key, err) => log.error({ key, err }, 'a ban is missing in the audit'),
  })
  const swaps = new Swaps({
    store: stores.swaps,
    self: { id: member().id, name: self.name },
    configs: () => stores.fleet.configs,
    check: checkFor(secret),
    audit: stores.audit,
    log,
    trouble: trouble(
      'the store doesn’t say how far swaps are; they stay at their steps',
      'the store says again how far swaps are',
    ),
  })
  const upstreams = new Upstreams({
    log: {
      out: (upstream, target, err) => {
        notices.targets.out(upstream, target, err)
        log.error({ upstream, target, err }, 'a target is taken out: it failed too often')
      },
      back: (upstream, target) => {
        notices.targets.back(upstream, target)
        log.info({ upstream, target }, 'a target is let back in')
      },
    },
    meters,
    swaps,
  })
  const ledgerKeeper = new LedgerKeeper({
    stores,
    self: { id: member().id, name: self.name },
    clock: () => quotas.nowMs,
    trouble: trouble(
      'a day of the ledger can’t be closed; it is tried again',
      'the days of the ledger are closed again',
    ),
  })
  const leaveFleet = stores.fleet.join(member, noticeDifferences({ ...stores, log, clock }))
  const liveCounts = new LiveCounts({ clock })
  const live = new Watching({
    ...{ counts: liveCounts, recentRefusals, self: member },
    isReachable: () => quotas.isReachable,
    targets: () => targetFigures(upstreams.all),
    ...{ questions: stores.questions, fleet: stores.fleet },
    failed: (err) => log.error({ err }, 'live figures can’t be put together; they are tried again'),
  })
  const mirrors = new Mirrors({ config, self: member })
  const comparisons = new Comparisons({ mirrors, fleet: stores.fleet, siblings, clock })
  const exporters = new Exporters({
    setting: 'traces.to',
    service: 'tollgate',
    instance: self.name,
    counts: meters.spans,
    trouble: collectorTrouble(log),
  })
  return {
    stores,
    storeWarnings,
    directory,
    quotas,
    strangers,
    tallying,
    recentRefusals,
    timeline,
    peaks,
    liveCounts,
    live,
    lastUses,
    earnedBans,
    upstreams,
    swaps,
    tunnels,
    mirrors,
    comparisons,
    notices,
    exporters,
    meters,
    async close() {
      endStartLog()
      storeWarnings.close()
      comparisons.stop()
      mirrors.end()
      endRefusalAnswers()
      live.close()
      ledgerKeeper.stop()
      swaps.close()
      await upstreams.close()
      await exporters.close()
      tunnels.close()
      strangers.close()
      await tallying.close()
      await earnedBans.close()
      await notices.close()
      directory.close()
      quotas.close()
      await leaveFleet()
      if (!given) await stores.close()
    },
  }
}
