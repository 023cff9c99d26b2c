import { Closers } from '../../shared/closers.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import { collectorTrouble } from '../../shared/spans/open.ts'
import { Certificates } from './certificates.ts'
import type { Config } from './config/config.ts'
import { openCallers } from './callers.ts'
import { openCounts } from './counts/request-counts.ts'
import { Meters } from './counts/meters.ts'
import { OwnMember } from './fleet/own-member.ts'
import type { Opening } from './opening.ts'
import { Upstreams } from './forwarding/registry.ts'
import { UnderWay } from './forwarding/under-way.ts'
import type { FrontListener, Listening } from './listener.ts'
import { openStores, storeName } from './stores/open.ts'
import type { Stores } from './stores/stores.ts'
import { Swaps, type CheckSide } from './swaps/swaps.ts'
import { exportersWith } from './traces/exporters.ts'

/** The time until the first line about a missing store, and between the later ones. */
const firstLineMs = 1_000
const lineEveryMs = 10_000

/** How often it checks whether the store has answered. */
const checkEveryMs = 100

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

/** The parts that requests touch and that outlive a configuration: stores, callers, counters, connections to backends. */
export type Front = Readonly<Awaited<ReturnType<typeof openFront>>>

/** Opens all parts. Waits for a store a short time, and starts without it, too. */
export async function openFront(options: FrontOptions) {
  const { config, stores: providedStores, clock, log } = options
  const { self = new OwnMember({ name: config.name, clock }) } = options
  const closers = new Closers()
  const stores = providedStores ?? (await openStores(config.store, { clock }))
  if (!providedStores) closers.add(() => stores.close())
  const isMet = { now: () => false }
  closers.add(logWaiting(stores, () => isMet.now(), log))
  try {
    await stores.ready()
  } catch (error) {
    await closers.close()
    throw error
  }
  const nameOfStore = providedStores ? 'the app’s' : storeName(config.store)
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
    /** The answers that are read on for their cost, after their callers have left. */
    drains: new UnderWay(),
    stores,
    /** The TLS files of addresses and upstreams. */
    certificates,
    self,
    /** The line of this process for the fleet. */
    member,
    /** Goes by another configuration from now on, in what outlives one. */
    change(next: Config): void {
      callers.strangers.limits = next.strangers
      stores.renew?.(next.store)
    },
    /** Tells the events of the front to somebody, from now on. */
    listen(listener: FrontListener): void {
      listening.by = listener
    },
    /** Closes everything, after the last request. */
    close: () => closers.close(),
  }
}

/** Logs while a starting gateway waits for its store. Returns the function that ends it. */
function logWaiting(stores: Stores, isMet: () => boolean, log: Log): () => void {
  let lineAtMs = performance.now() + firstLineMs
  let hasWaited = false
  const timer = setInterval(() => {
    if (isMet()) {
      clearInterval(timer)
      if (hasWaited) log.info({}, 'the store is there')
    } else if (performance.now() >= lineAtMs) {
      lineAtMs = performance.now() + lineEveryMs
      hasWaited = true
      log.warn({}, `waiting for ${stores.waitsFor()}`)
    }
  }, checkEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Opens the ways to backends, and those of spans to collectors. */
function openBackends(opening: Opening, check: CheckSide) {
  const { stores, meters, certificates, member, listening, trouble, log, closers } = opening
  const { id, name } = member()
  const exporters = exportersWith({
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
        log.error({ upstream, target, err }, 'a target is marked unhealthy: it failed too often')
      },
      back: (upstream, target) => {
        listening.by?.targetBack(upstream, target)
        log.info({ upstream, target }, 'a target is healthy again')
      },
    },
    meters,
    swaps,
    certificates,
  })
  closers.add(() => upstreams.close())
  // First: a swap takes no step while its upstreams close.
  closers.add(() => swaps.close())
  return { exporters, swaps, upstreams }
}
