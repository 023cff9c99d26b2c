import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import type { LogSettings } from '../shared/log.ts'
import { sizeYoungGeneration } from '../shared/node/young-generation.ts'
import { portInUse, serve } from '../shared/serve.ts'
import { secretWarning } from '../shared/signature.ts'
import { OwnMember } from './front/fleet/own-member.ts'
import { logChanges } from './front/records/audit.ts'
import { Gateway } from './gateway.ts'
import { createAdmin } from './office/admin/app.ts'
import { createMetrics, type Metrics } from './office/admin/metrics/metrics.ts'
import type { AdminTokens } from './office/admin/token.ts'
import { mirrorCommandFrom } from './office/compare/mirrors.ts'
import { hindrances } from './office/config/hindrances.ts'
import type { Loaded } from './office/config/load.ts'
import { noteReload } from './office/config/note-reload.ts'
import { Reloader } from './office/config/reload.ts'
import { closeDueDays } from './office/ledger/ledger.ts'
import { OfficeThread, officeOf } from './office/thread/office-thread.ts'
import { WorkerLink } from './office/worker-pool.ts'

/** What a process of the gateway goes by. */
export type ProcessSettings = Readonly<{
  /** The configuration file, and what it says. */
  file: string
  loaded: Loaded
  /** Shared with the backend. */
  secret: string | undefined
  tokens: AdminTokens
  /** What is weak about the tokens. */
  warnings: readonly string[]
  log: Pick<LogSettings, 'level' | 'target'>
}>

/** What the signals of operators do. */
export type Signals = { reload: () => void; replace: () => void }

/** The log line about SIGUSR2 in a process without workers. */
const noWorkers =
  'SIGUSR2 replaces workers, and workers is 1: nothing was done; SIGTERM stops the gateway'

/** Serves until the process is told to stop: alone, or as one of several workers. */
export async function serveGateway(settings: ProcessSettings, signals: Signals): Promise<void> {
  const { config } = settings.loaded
  const link = cluster.worker && new WorkerLink(cluster.worker, process.env)
  // A worker without an overseer can't get the port, and one that doesn't serve yet has nothing to finish.
  const leave = (): void => process.exit(0)
  if (link) process.on('disconnect', leave)
  const serving = await Serving.open(settings, link)
  const { gateway, reloader } = serving
  // Workers ignore the signal, which may reach the whole process group: their overseer handles it.
  if (!link) signals.replace = () => gateway.log.warn(noWorkers)
  await serving.openAdmin()
  try {
    await serve(gateway, process, {
      ...config.listen,
      stopping: () => serving.stop(),
      times: () => gateway.config,
      parting: () => link?.reason,
    })
    process.off('disconnect', leave)
  } catch (error) {
    throw portInUse(error, 'listen.port in the configuration')
  }
  signals.reload = () =>
    void reloader.reload('SIGHUP').catch((err: unknown) => {
      gateway.log.error({ err }, 'the configuration could not be read; send SIGHUP again')
    })
  serving.listenToSiblings(signals)
  await reloader.watch()
}

/** The gateway of a process, with what operators use of it. */
class Serving {
  readonly gateway: Gateway
  readonly reloader: Reloader
  readonly #settings: ProcessSettings
  readonly #link: WorkerLink | undefined
  readonly #log: LogSettings
  readonly #metrics: Metrics
  readonly #thread: OfficeThread
  readonly #environment = { ...process.env }
  #isStopping = false
  #endChangeLog = (): void => undefined

  static async open(settings: ProcessSettings, link: WorkerLink | undefined): Promise<Serving> {
    const { config } = settings.loaded
    const { pid } = process
    const self = new OwnMember({ name: config.name, pid, worker: cluster.worker?.id })
    // A gateway alone that has no name needs none in its log.
    const name = config.name !== undefined || link ? self.name : undefined
    const log = { ...settings.log, name }
    const gateway: Gateway = await Gateway.open({
      ...{ config, secret: settings.secret, log, self, siblings: link },
      descriptors: mostDescriptors(),
      closeDays: (nowMs) => serving.#closeDays(nowMs),
    })
    sizeYoungGeneration(() => gateway.underWay)
    const serving: Serving = new Serving(gateway, settings, link, log)
    self.fileState = () => serving.reloader.state
    return serving
  }

  private constructor(
    gateway: Gateway,
    settings: ProcessSettings,
    link: WorkerLink | undefined,
    log: LogSettings,
  ) {
    this.gateway = gateway
    this.#settings = settings
    this.#link = link
    this.#log = log
    this.#warnAtStart()
    this.#metrics = createMetrics(gateway, {
      state: () => this.reloader.state,
      officeRestarts: () => this.#thread.restarts,
      others: link,
    })
    this.reloader = this.#openReloader()
    const { file, secret } = settings
    this.#thread = new OfficeThread({
      ...officeOf(gateway),
      begin: () => {
        const { text } = this.reloader
        return { file, environment: this.#environment, text, config: gateway.config, secret }
      },
    })
  }

  /** The leader of several workers does what one worker does for all. */
  get #isLeader(): boolean {
    return this.#link?.isLeader ?? true
  }

  /** Opens the admin address, at which the leader answers. */
  async openAdmin(): Promise<void> {
    if (!this.#isLeader) return
    const { gateway, reloader } = this
    const { loaded, tokens, secret } = this.#settings
    const { host, port, tls } = loaded.config.admin
    const { certificates, stores } = gateway.front
    const admin = createAdmin({
      ...{ gateway, reloader, metrics: this.#metrics, tokens, secret, log: this.#log },
      tls: tls && certificates.open('admin', tls),
      environment: this.#environment,
      thread: this.#thread,
      isStopping: () => this.#isStopping,
    })
    this.#endChangeLog = logChanges(stores.audit, (about, message) =>
      gateway.log.info(about, message),
    )
    try {
      await admin.listen({ host, port })
    } catch (error) {
      throw portInUse(error, 'admin.port in the configuration')
    }
  }

  /** Answers the other workers, and obeys their overseer. */
  listenToSiblings({ reload }: Signals): void {
    const { mirrors } = this.gateway.office
    this.#link?.serve(reload, (about) => {
      const order = mirrorCommandFrom(about)
      return order ? Promise.resolve(mirrors.apply(order)) : this.#metrics.own()
    })
  }

  stop(): void {
    const { comparisons, live } = this.gateway.office
    comparisons.stop()
    this.#isStopping = true
    this.#thread.close()
    live.wake()
    this.reloader.close()
    this.#endChangeLog()
  }

  #openReloader(): Reloader {
    const { gateway } = this
    const { file, loaded } = this.#settings
    const { certificates, swaps } = gateway.front
    const note = noteReload({
      ...{ gateway, metrics: this.#metrics, isLeader: this.#isLeader, log: gateway.log },
      warn: (warnings) => this.#warn(warnings),
    })
    return new Reloader({
      file,
      loaded,
      desk: (name, ...values) => this.#thread.desk(name, ...values),
      change: (config) => gateway.change(config),
      hindrances: (config) => hindrances(swaps, gateway.config, config),
      onAttempt: (...attempt) => {
        certificates.readAgain()
        note(...attempt)
      },
    })
  }

  #closeDays(nowMs: number): Promise<void> {
    return this.#thread.readsStores
      ? this.#thread.closeDays(nowMs)
      : closeDueDays(this.gateway.front.stores, nowMs)
  }

  #warnAtStart(): void {
    const { loaded, secret, warnings } = this.#settings
    const weakness = secretWarning(secret)
    this.#warn([...(weakness === undefined ? [] : [weakness]), ...warnings, ...loaded.warnings])
  }

  /** Only the leader warns: all workers have read the same. */
  #warn(warnings: readonly string[]): void {
    if (this.#isLeader) for (const warning of warnings) this.gateway.log.warn({}, warning)
  }
}

/** The system's limit of open files and connections for this process; `undefined` if it isn't known. */
function mostDescriptors(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1]) || undefined
  } catch {
    return undefined
  }
}
