import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import type { LogSettings } from '../shared/log.ts'
import { portInUse, serve, type Lifecycle, type Place } from '../shared/serve.ts'
import { secretWarning } from '../shared/signature.ts'
import { OwnMember } from './front/fleet/own-member.ts'
import { logChanges } from './front/records/audit.ts'
import { Gateway, type GatewayOptions } from './gateway.ts'
import { createAdmin } from './office/admin/app.ts'
import { createMetrics, type Metrics } from './office/admin/metrics/metrics.ts'
import { askHere, ConfigDesk, type AskDesk } from './office/config/desk.ts'
import { hindrances } from './office/config/hindrances.ts'
import { noteReload } from './office/config/note-reload.ts'
import { Reloader } from './office/config/reload.ts'
import { closeDueDays } from './office/ledger/ledger.ts'
import { OfficeThread, officeOf, type OfficeThreadOptions } from './office/thread/office-thread.ts'
import { WorkerLink } from './office/worker-pool.ts'
import type { ProcessSettings } from './process-settings.ts'

/** The part of a process that serving needs; `main.ts` passes its own. */
export type Surroundings = Lifecycle & {
  off(event: 'disconnect', listener: () => void): unknown
}

/** What the signals of operators do. */
export type Signals = { reload: () => void; replace: () => void }

/** The log line about SIGUSR2 in a process without workers. */
const noWorkers =
  'SIGUSR2 replaces workers, and workers is 1: nothing was done; SIGTERM stops the gateway'

/** Serves until `surroundings`, which are the process, tell it to stop: alone, or as one of several workers. */
export async function serveGateway(
  settings: ProcessSettings,
  signals: Signals,
  surroundings: Surroundings,
): Promise<Serving> {
  const link = cluster.worker && new WorkerLink(cluster.worker, settings.environment)
  // A worker without an overseer can't get the port, and one that doesn't serve yet has nothing to finish.
  const leave = (): void => surroundings.exit(0)
  if (link) surroundings.on('disconnect', leave)
  const serving = await Serving.open(settings, { link, descriptors: mostDescriptors() })
  const { gateway, reloader } = serving
  // Workers ignore the signal, which may reach the whole process group: their overseer handles it.
  if (!link) signals.replace = () => gateway.log.warn(noWorkers)
  await serving.openAdmin()
  const { decide } = settings.places
  try {
    if (decide) await gateway.listenForProxy(decide)
  } catch (error) {
    throw portInUse(error, '--decide-port, DECIDE_PORT or decide.port in the configuration')
  }
  try {
    await serve(gateway, surroundings, {
      ...settings.places.listen,
      stopping: () => serving.stop(),
      times: () => gateway.config,
      parting: () => link?.reason,
    })
    surroundings.off('disconnect', leave)
  } catch (error) {
    throw portInUse(error, '--port, GATEWAY_PORT or listen.port in the configuration')
  }
  signals.reload = () =>
    void reloader.reload('SIGHUP').catch((err: unknown) => {
      gateway.log.error({ err }, 'the configuration could not be read; send SIGHUP again')
    })
  serving.listenToSiblings(signals)
  await reloader.watch()
  return serving
}

/** Options of serving beside its settings: a worker's link, and parts that tests bring. */
export type ServingOptions = Pick<GatewayOptions, 'clock' | 'stores' | 'descriptors'> &
  Readonly<{
    link?: WorkerLink | undefined
    /** Other bounds of the office's thread. With none, the office works in this one: by a clock that only this one has. */
    thread?: Partial<OfficeThreadOptions> | 'none'
  }>

/** The gateway of a process, with what operators use of it. */
export class Serving {
  readonly gateway: Gateway
  readonly reloader: Reloader
  readonly metrics: Metrics
  /** The server of the admin address, once it is open. */
  admin: FastifyInstance | undefined
  readonly #settings: ProcessSettings
  readonly #options: ServingOptions
  readonly #log: LogSettings
  readonly #thread: OfficeThread | undefined
  #isStopping = false
  #endChangeLog = (): void => undefined

  static async open(settings: ProcessSettings, options: ServingOptions = {}): Promise<Serving> {
    const { config } = settings.loaded
    const { link } = options
    const { pid } = process
    const self = new OwnMember({ name: config.name, pid, worker: cluster.worker?.id })
    // A gateway alone that has no name needs none in its log.
    const name = config.name !== undefined || link ? self.name : undefined
    const log = { ...settings.log, name }
    const gateway: Gateway = await Gateway.open({
      ...options,
      ...{ config, secret: () => settings.secrets.secret, log, self },
      closeDays: (nowMs) => serving.#closeDays(nowMs),
    })
    const serving: Serving = new Serving(gateway, settings, options, log)
    self.fileState = () => serving.reloader.state
    return serving
  }

  private constructor(
    gateway: Gateway,
    settings: ProcessSettings,
    options: ServingOptions,
    log: LogSettings,
  ) {
    this.gateway = gateway
    this.#settings = settings
    this.#options = options
    this.#log = log
    this.#warnAtStart()
    this.metrics = createMetrics(gateway, {
      state: () => this.reloader.state,
      officeRestarts: () => this.#thread?.restarts ?? 0,
      others: options.link,
    })
    this.#thread = options.thread === 'none' ? undefined : this.#openThread(options.thread)
    const { loaded, file, environment } = settings
    const desk = this.#thread?.desk ?? askHere(new ConfigDesk({ ...loaded, file, environment }))
    this.reloader = this.#openReloader(desk)
  }

  /** The leader of several workers does what one worker does for all. */
  get #isLeader(): boolean {
    return this.#options.link?.isLeader ?? true
  }

  /** Opens the admin address, at which the leader answers: the configured one unless told. */
  async openAdmin(place?: Place): Promise<void> {
    if (!this.#isLeader) return
    const { gateway, reloader, metrics } = this
    const { loaded, places, secrets, environment } = this.#settings
    const { tls } = loaded.config.admin
    const { certificates, stores } = gateway.front
    this.admin = createAdmin({
      ...{ gateway, reloader, metrics, secrets, environment, log: this.#log },
      clock: this.#options.clock,
      tls: tls && certificates.open('admin', tls),
      thread: this.#thread,
      isStopping: () => this.#isStopping,
    })
    this.#endChangeLog = logChanges(stores.audit, (about, message) =>
      gateway.log.info(about, message),
    )
    try {
      await this.admin.listen(place ?? places.admin)
    } catch (error) {
      throw portInUse(error, '--admin-port, ADMIN_PORT or admin.port in the configuration')
    }
  }

  /** Answers the other workers, and obeys their overseer. */
  listenToSiblings({ reload }: Signals): void {
    this.#options.link?.serve(reload, this.metrics.own)
  }

  stop(): void {
    this.#isStopping = true
    this.#thread?.close()
    this.gateway.office.live.wake()
    this.reloader.close()
    this.#endChangeLog()
  }

  #openThread(options?: Partial<OfficeThreadOptions>): OfficeThread {
    const { gateway } = this
    const { file, environment } = this.#settings
    return new OfficeThread({
      ...officeOf(gateway),
      begin: () => {
        const { text } = this.reloader
        return { file, environment, text, config: gateway.config }
      },
      ...options,
    })
  }

  #openReloader(desk: AskDesk): Reloader {
    const { gateway } = this
    const { file, loaded, secrets } = this.#settings
    const { certificates, swaps, stores } = gateway.front
    const note = noteReload({
      ...{ audit: stores.audit, metrics: this.metrics, isLeader: this.#isLeader, log: gateway.log },
      warn: (warnings) => this.#warn(warnings),
    })
    return new Reloader({
      ...{ file, loaded, secrets, desk },
      change: (config) => gateway.change(config),
      hindrances: (config) => hindrances(swaps, gateway.config, config),
      onAttempt: (...attempt) => {
        certificates.readAgain()
        note(...attempt)
      },
    })
  }

  #closeDays(nowMs: number): Promise<void> {
    return this.#thread?.readsStores
      ? this.#thread.closeDays(nowMs)
      : closeDueDays(this.gateway.front.stores, nowMs)
  }

  #warnAtStart(): void {
    const { loaded, secrets } = this.#settings
    const weakness = secretWarning(secrets.secret)
    this.#warn([...(weakness === undefined ? [] : [weakness]), ...loaded.warnings])
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
