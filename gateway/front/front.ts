import { Closers } from '../../shared/closers.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import { collectorTrouble } from '../../shared/spans/open.ts'
import { Certificates } from './certificates.ts'
import type { Config } from './config/config.ts'
import { openCounts, type RequestCounts } from './counts/request-counts.ts'
import { Meters } from './counts/meters.ts'
import { OwnMember } from './fleet/own-member.ts'
import type { Member } from './fleet/store.ts'
import type { OnlookerSlot } from './forwarding/onlooker.ts'
import { Upstreams } from './forwarding/registry.ts'
import { Tunnels } from './forwarding/tunnels.ts'
import { Issuers } from './jwt/issuers.ts'
import { KeyDirectory } from './keys/directory.ts'
import { OutsideCallers } from './keys/outside-callers.ts'
import { OutsideRecords } from './keys/outside-records.ts'
import type { Asker } from './limits/cached-refusals.ts'
import { Quotas } from './limits/quotas.ts'
import { Strangers } from './limits/strangers.ts'
import type { FrontListener, Listening } from './listener.ts'
import { noterFor } from './records/audit.ts'
import { EarnedBans } from './records/earned-bans.ts'
import { logStoreAtStart } from './stores/log-store-at-start.ts'
import { openStores } from './stores/open.ts'
import { storeName } from './stores/store-name.ts'
import type { Stores } from './stores/stores.ts'
import { Swaps, type CheckSide } from './swaps/swaps.ts'
import { Exporters } from './traces/exporters.ts'

export type FrontOptions = Readonly<{
  config: Config
  /** The stores; by default those of the configuration, which are closed with the front. */
  stores?: Stores | undefined
  /** This process, as the fleet hears of it. */
  self?: OwnMember | undefined
  /** Compares the two sides of a swap before it begins. */
  checkSwap: CheckSide
  clock: Clock
  log: Log
}>

/** The callers, with what they have used up. */
type Callers = Readonly<{
  directory: KeyDirectory
  /** Those whose keys are known elsewhere, and who vouches for them. */
  outsideCallers: OutsideCallers
  issuers: Issuers
  quotas: Quotas
  strangers: Strangers
  earnedBans: EarnedBans
  /** Has an earned ban hold for tokens of other accounts that are in memory, too. */
  spreadBan: (banned: Asker, untilMs: number) => void
}>

/** The ways to backends. */
type Backends = Readonly<{
  upstreams: Upstreams
  swaps: Swaps
  tunnels: Tunnels
  onlooker: OnlookerSlot
  /** The ways of spans to collectors. */
  exporters: Exporters
}>

/** The parts that requests touch and that outlive a configuration: stores, callers, counters, connections to backends. */
export type Front = Callers &
  RequestCounts &
  Backends &
  Readonly<{
    stores: Stores
    /** The TLS files of addresses and upstreams. */
    certificates: Certificates
    self: OwnMember
    /** The line of this process for the fleet. */
    member: () => Member
    /** Tells the events of the front to somebody, from now on. */
    listen: (listener: FrontListener) => void
    /** Closes everything, after the last request. */
    close: () => Promise<void>
  }>

/** The needs of all parts of the front, while it opens. */
type Opening = Readonly<{
  config: Config
  stores: Stores
  meters: Meters
  certificates: Certificates
  member: () => Member
  listening: Listening
  /** Makes the function that logs the beginning and the end of some trouble with the store. */
  trouble: (what: string, whenOver: string) => (error: Error | undefined) => void
  clock: Clock
  log: Log
  closers: Closers
}>

/** Opens all parts. Waits for a store a short time, and starts without it, too. */
export async function openFront(options: FrontOptions): Promise<Front> {
  const { config, stores: providedStores, clock, log } = options
  const { self = new OwnMember({ name: config.name, clock }) } = options
  const closers = new Closers()
  const stores = providedStores ?? (await openStores(config.store))
  if (!providedStores) closers.add(() => stores.close())
  const isMet = { now: () => false }
  closers.add(logStoreAtStart({ stores, isMet: () => isMet.now(), log }))
  await stores.ready()
  const nameOfStore = storeName(config.store)
  const listening: Listening = { by: undefined }
  const opening: Opening = {
    config,
    stores,
    meters: new Meters(),
    certificates: new Certificates({ clock, log }),
    member: () => self.memberOf(nameOfStore),
    listening,
    trouble: (what, whenOver) => (err) =>
      err ? log.error({ err, store: stores.waitsFor(err) }, what) : log.info({}, whenOver),
    clock,
    log,
    closers,
  }
  const { member, certificates } = opening
  closers.add(() => certificates.close())
  closers.add(stores.fleet.join(member, (news) => listening.by?.fleetNews(news)))
  const { tunnels, ...callers } = openCallers(opening)
  isMet.now = () => callers.directory.isMet
  const counts = openCounts({
    ...opening,
    settle: () => callers.quotas.settle(),
    nearLimit: (near) => listening.by?.nearLimit(near),
  })
  const backends = openBackends(opening, options.checkSwap)
  return {
    ...callers,
    ...counts,
    ...backends,
    tunnels,
    stores,
    certificates,
    self,
    member,
    listen(listener) {
      listening.by = listener
    },
    close: () => closers.close(),
  }
}

function openCallers(opening: Opening): Callers & Pick<Backends, 'tunnels'> {
  const { config, stores, meters, listening, trouble, clock, log, closers } = opening
  const records = outsideRecords(opening)
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
    changed: (keys) => records.note(keys),
    emptied: (epoch) => {
      meters.emptiedStores++
      listening.by?.storeEmptied(epoch)
    },
  })
  closers.add(() => directory.close())
  const { outsideCallers, issuers } = openOutside(opening, directory, records)
  const tunnels = new Tunnels({
    directory,
    quotas: { isBanned: (caller) => quotas.isBanned(caller) },
    clock,
  })
  closers.add(() => tunnels.close())
  const { whenUnreachable } = config.store
  const troubleOfQuotas = quotaTrouble(opening)
  const quotas: Quotas = new Quotas({
    banned: (key) => tunnels.end(key),
    store: stores.quota,
    gateways: () => stores.fleet.size,
    whenUnreachable,
    clock,
    meters,
    trouble: (err) => {
      listening.by?.storeTrouble(err && stores.waitsFor(err))
      troubleOfQuotas(err)
    },
  })
  closers.add(() => quotas.close())
  const strangers = new Strangers({
    limits: config.strangers,
    clock,
    store: stores.strangers,
    onRefused: (code) => meters.strangers.add(code, ''),
  })
  closers.add(() => strangers.close())
  const earnedBans = new EarnedBans({
    store: stores.audit,
    clock,
    missing: (key, err) => log.error({ key, err }, 'a ban is missing in the audit'),
  })
  closers.add(() => earnedBans.close())
  const spreadBan = ({ id, quota }: Asker, untilMs: number): void => {
    for (const other of directory.outsideQuotasOf(id)) {
      if (other === quota) continue
      stores.quota
        .ban(other, id, untilMs)
        .catch((err: unknown) => log.error({ key: id, err }, 'a ban doesn’t hold for all tokens'))
    }
  }
  return { directory, outsideCallers, issuers, tunnels, quotas, strangers, earnedBans, spreadBan }
}

function outsideRecords({ stores, clock, log, closers }: Opening): OutsideRecords {
  const records = new OutsideRecords({
    store: stores.keys,
    noted: noterFor(stores.audit, 'gateway', clock),
    clock,
    untold: (err) => log.error({ err }, 'a number of new callers is missing in the audit'),
  })
  closers.add(() => records.close())
  return records
}

function openOutside(
  opening: Opening,
  directory: KeyDirectory,
  records: OutsideRecords,
): Pick<Callers, 'outsideCallers' | 'issuers'> {
  const { stores, meters, clock, log, closers } = opening
  const outsideCallers = new OutsideCallers({
    store: stores.keys,
    quota: stores.quota,
    directory,
    records,
    clock,
    outdated: (key, err) => log.error({ key, err }, 'the record of a caller is not up to date'),
  })
  const denied = (reason: string): void => meters.jwtRefusals.add(reason, '')
  const issuers = new Issuers({ callers: outsideCallers, records, clock, log, denied })
  closers.add(() => issuers.close())
  return { outsideCallers, issuers }
}

function quotaTrouble({ config, stores, trouble }: Opening): ReturnType<Opening['trouble']> {
  if (stores.quota.isLocal) {
    return trouble(
      'counters can’t be written down; they go on in memory',
      'counters are written down again',
    )
  }
  return trouble(
    `the quota store is out of reach; until it is back: ${config.store.whenUnreachable}`,
    'the quota store answers again',
  )
}

function openBackends(opening: Opening, check: CheckSide): Omit<Backends, 'tunnels'> {
  const { stores, meters, certificates, member, listening, trouble, log, closers } = opening
  const { id, name } = member()
  const exporters = new Exporters({
    setting: 'traces.to',
    service: 'tollgate',
    instance: name,
    counts: meters.spans,
    trouble: collectorTrouble(log),
  })
  closers.add(() => exporters.close())
  const swaps = new Swaps({
    store: stores.swaps,
    self: { id, name },
    configs: () => stores.fleet.configs,
    check,
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
        listening.by?.targetOut(upstream, target, err)
        log.error({ upstream, target, err }, 'a target is taken out: it failed too often')
      },
      back: (upstream, target) => {
        listening.by?.targetBack(upstream, target)
        log.info({ upstream, target }, 'a target is let back in')
      },
    },
    meters,
    swaps,
    certificates,
  })
  closers.add(() => upstreams.close())
  // First: a swap takes no step while its upstreams close.
  closers.add(() => swaps.close())
  return { exporters, swaps, upstreams, onlooker: { current: undefined } }
}
