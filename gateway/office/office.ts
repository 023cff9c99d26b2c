import type { Server } from 'node:http'
import { Closers } from '../../shared/closers.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import type { Config } from '../front/config/config.ts'
import type { Front } from '../front/front.ts'
import { CertificateEnds } from './certificate-ends.ts'
import { answerForRefusals } from './explain/refusals-of.ts'
import { differenceReporter } from './fleet/differences.ts'
import { LedgerKeeper } from './ledger/keeper.ts'
import { closeDueDays } from './ledger/ledger.ts'
import { KeptDays } from './live/kept-days.ts'
import { targetFigures } from './live/targets.ts'
import { noterFor } from '../front/records/audit.ts'
import { UnusedCallers } from './unused-callers.ts'
import { Watching } from './live/watching.ts'
import { Notices } from './notices/notices.ts'
import { StoreWarnings } from './store-warnings.ts'

export type OfficeOptions = Readonly<{
  config: Config
  /** Whether an app knows callers itself. */
  hasOwnCallers?: boolean | undefined
  /** Closes the ledger's days in a thread; without it, this one does. */
  closeDays?: ((nowMs: number) => Promise<void>) | undefined
  clock: Clock
  log: Log
}>

/** The parts of a running gateway that operators use and that outlive one question of theirs. */
export type Office = ReturnType<typeof openOffice>

/** A gateway, as its office sees it. */
export type OperatedGateway = Readonly<{
  config: Config
  front: Front
  office: Office
  server: Pick<Server, 'listening'>
}>

/** Opens the office of a front, and listens to its events. */
export function openOffice(front: Front, options: OfficeOptions) {
  const { config, hasOwnCallers = false, clock, log } = options
  const { stores, self, member } = front
  const closers = new Closers()
  /** Warnings about the store. */
  const storeWarnings = new StoreWarnings({ stores, clock, log })
  closers.add(() => storeWarnings.close())
  const targets = () => targetFigures(front.upstreams.all)
  /** Events for receivers outside. */
  const notices = new Notices({
    stores,
    config,
    self: member,
    targets,
    nearLimits: front.nearLimits,
    counts: front.meters.notices,
    clock,
    log,
  })
  closers.add(() => notices.close())
  /** Warnings of certificates that end soon. */
  const certificateEnds = new CertificateEnds({
    certificates: front.certificates,
    tell: (end) => notices.certificateEnds(end),
    clock,
    log,
  })
  closers.add(() => certificateEnds.close())
  listen(front, { notices, storeWarnings }, options)
  const refusals = { refusals: front.recentRefusals, self: member }
  closers.add(answerForRefusals(stores.questions, refusals))
  const ledger = ledgerKeeper(front, options)
  closers.add(() => ledger.stop())
  const days = new KeptDays({
    documents: stores.documents,
    id: member().id,
    sums: front.liveCounts.sums,
    lastRefusal: () => front.recentRefusals.number,
  })
  closers.add(() => days.close())
  /** The latest sums of the whole fleet. */
  const live = new Watching({
    counts: front.liveCounts,
    recentRefusals: front.recentRefusals,
    self: member,
    isReachable: () => front.quotas.isReachable,
    targets,
    questions: stores.questions,
    fleet: stores.fleet,
    days,
    failed: (err) => log.error({ err }, 'live figures can’t be put together; they are tried again'),
  })
  closers.add(() => live.close())
  let hasIssuers = config.jwt.length > 0
  /** The records of callers from outside that nobody uses. */
  const unusedCallers = new UnusedCallers({
    stores,
    self: { id: member().id, name: self.name },
    isNeeded: () => hasOwnCallers || hasIssuers,
    noted: noterFor(stores.audit, 'gateway', clock),
    clock: () => front.quotas.nowMs,
    failed: (err) => log.error({ err }, 'unused records can’t be removed; trying again'),
  })
  closers.add(() => unusedCallers.close())
  return {
    storeWarnings,
    live,
    notices,
    certificateEnds,
    unusedCallers,
    /** Goes by another configuration from now on. */
    change(config: Config) {
      hasIssuers = config.jwt.length > 0
      notices.change(config)
    },
    close: () => closers.close(),
  }
}

/** Listens to what a front tells of itself. */
function listen(
  front: Front,
  { notices, storeWarnings }: Pick<Office, 'notices' | 'storeWarnings'>,
  { clock, log }: OfficeOptions,
): void {
  const { fleet, audit } = front.stores
  const fleetNews = differenceReporter({ fleet, audit, log, clock })
  front.listen({
    storeEmptied: (epoch) => {
      storeWarnings.emptied()
      notices.storeEmptied(epoch)
    },
    targetOut: (upstream, target, cause) => notices.targets.out(upstream, target, cause),
    targetBack: (upstream, target) => notices.targets.back(upstream, target),
    nearLimit: (near) => notices.nearLimit(near),
    fleetNews,
  })
}

/** Closes the days of the ledger, as one of the fleet. */
function ledgerKeeper(front: Front, { closeDays, log }: OfficeOptions): LedgerKeeper {
  const { stores, self, member } = front
  return new LedgerKeeper({
    fleet: stores.fleet,
    ledger: stores.ledger,
    closeDays: closeDays ?? ((nowMs) => closeDueDays(stores, nowMs)),
    self: { id: member().id, name: self.name },
    clock: () => front.quotas.nowMs,
    trouble: (err) =>
      err
        ? log.error(
            { err, store: stores.waitsFor(err) },
            'a day of the ledger can’t be closed; it is tried again',
          )
        : log.info({}, 'the days of the ledger are closed again'),
  })
}
