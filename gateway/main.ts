// Before any other: V8 looks at its flags while it runs code.
import { keepLittleGarbage } from '../shared/node/v8-flags.ts'
import { sizeYoungGeneration } from '../shared/node/young-generation.ts'
import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { logLevels, standardLog, type LogSettings } from '../shared/log.ts'
import { serviceLog } from '../shared/request-log.ts'
import { isLoopback, portInUse, serve } from '../shared/serve.ts'
import { secretFault, secretWarning } from '../shared/signature.ts'
import { createAdmin } from './office/admin/app.ts'
import { createMetrics } from './office/admin/metrics/metrics.ts'
import { adminTokensFrom, guessableWarnings, roleWarnings } from './office/admin/token.ts'
import { logChanges } from './front/records/audit.ts'
import { ConfigError } from './office/config/config-error.ts'
import { configFile } from './office/config/file-text.ts'
import { readConfig } from './office/config/load.ts'
import { OwnMember } from './front/fleet/own-member.ts'
import { Reloader } from './office/config/reload.ts'
import { hindrances } from './office/config/hindrances.ts'
import { noteReload } from './office/config/note-reload.ts'
import { mirrorCommandFrom } from './office/compare/mirrors.ts'
import { WorkerLink, WorkerPool } from './office/worker-pool.ts'
import { Gateway } from './gateway.ts'
import { closeDueDays } from './office/ledger/ledger.ts'
import { OfficeThread, officeOf } from './office/thread/office-thread.ts'

const help = `The gateway: authenticates callers, enforces their plans, forwards to a backend.

  npm run gateway              serve
  npm run -s gateway -- --help this text

It reads its configuration again when the file is saved, or on SIGHUP. With several workers, SIGUSR2
puts new ones in their place, one after the other; with one, it does nothing.

Environment:
  TOLLGATE_CONFIG  the configuration file     config/gateway.yaml
  ADMIN_TOKEN      what operators send to the admin address; without it, only health is told there.
                   Several with names and roles: alice:TOKEN,bob/support:TOKEN,eve/read:TOKEN. Each has 16 characters or more
  GATEWAY_SECRET   shared with the backend, which then takes only what this gateway has signed
  LOG_LEVEL        ${logLevels.join(' ')}   info
`

/** The log line about SIGUSR2 in a process without workers. */
const noWorkers =
  'SIGUSR2 replaces workers, and workers is 1: nothing was done; SIGTERM stops the gateway'

keepLittleGarbage()

try {
  await main()
} catch (error) {
  const sentence = error instanceof Error ? error.message : String(error)
  // Editors look for file:line:column at the beginning of a line.
  const isPlaced = error instanceof ConfigError && error.mistakes.length > 0
  process.stderr.write(isPlaced ? `${sentence}\n` : `gateway: ${sentence}\n`)
  process.exit(2)
}

async function main(): Promise<void> {
  // Set at once, because without a listener SIGHUP ends the process. Until the first read is done it does nothing.
  let reload = (): void => undefined
  process.on('SIGHUP', () => reload())
  let replace = (): void => undefined
  process.on('SIGUSR2', () => replace())
  const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } })
  if (values.help) return void process.stdout.write(help)
  const { LOG_LEVEL = 'info', GATEWAY_SECRET: secret, ADMIN_TOKEN } = process.env
  const fault = secretFault(secret)
  if (fault) throw new Error(fault)
  const tokens = adminTokensFrom(ADMIN_TOKEN)
  const level = logLevels.find((level) => level === LOG_LEVEL)
  if (!level)
    throw new Error(`LOG_LEVEL must be one of ${logLevels.join(', ')}, got "${LOG_LEVEL}"`)
  const file = configFile()
  const loaded = readConfig(file)
  const { config } = loaded
  if (tokens.length === 0 && !isLoopback(config.admin.host)) {
    throw new Error(
      `admin.host is ${config.admin.host}, which others can reach: set ADMIN_TOKEN, or take 127.0.0.1`,
    )
  }
  const target = standardLog(process)
  if (config.workers > 1 && cluster.isPrimary) {
    const pool = oversee(config.workers, { level, target, name: config.name })
    reload = () => pool.reload()
    replace = () => void pool.restart()
    return
  }
  const link = cluster.worker && new WorkerLink(cluster.worker, process.env)
  // A worker without an overseer can't get the port, and one that doesn't serve yet has nothing to finish.
  const leave = (): void => process.exit(0)
  if (link) process.on('disconnect', leave)
  // The leader does what one worker does for all.
  const isLeader = link?.isLeader ?? true
  const { pid } = process
  const self = new OwnMember({ name: config.name, pid, worker: cluster.worker?.id })
  // A gateway alone that has no name needs none in its log.
  const name = config.name !== undefined || link ? self.name : undefined
  const log = { level, target, name }
  const descriptors = mostDescriptors()
  const gateway = await Gateway.open({
    config,
    secret,
    log,
    descriptors,
    self,
    siblings: link,
    closeDays: (nowMs) =>
      thread.readsStores ? thread.closeDays(nowMs) : closeDueDays(gateway.front.stores, nowMs),
  })
  sizeYoungGeneration(() => gateway.underWay)
  // Workers ignore the signal, which may reach the whole process group: their overseer handles it.
  if (!link) replace = () => gateway.log.warn(noWorkers)
  const weakness = secretWarning(secret)
  if (weakness && isLeader) gateway.log.warn(weakness)
  const ofTokens = [...roleWarnings(ADMIN_TOKEN), ...guessableWarnings(tokens)]
  if (isLeader) for (const warning of ofTokens) gateway.log.warn(warning)
  const warn = (warnings: readonly string[]): void => {
    if (isLeader) warnings.forEach((warning) => gateway.log.warn({}, warning))
  }
  warn(loaded.warnings)
  const metrics = createMetrics(gateway, {
    state: () => reloader.state,
    officeRestarts: () => thread.restarts,
    others: link,
  })
  const { certificates } = gateway.front
  const note = noteReload({ gateway, metrics, isLeader, log: gateway.log, warn })
  const reloader: Reloader = new Reloader({
    file,
    desk: (name, ...values) => thread.desk(name, ...values),
    loaded,
    change: (config) => gateway.change(config),
    hindrances: (config) => hindrances(gateway.front.swaps, gateway.config, config),
    onAttempt: (...attempt) => {
      certificates.readAgain()
      note(...attempt)
    },
  })
  const environment = { ...process.env }
  const thread = new OfficeThread({
    ...officeOf(gateway),
    begin: () => ({ file, environment, text: reloader.text, config: gateway.config, secret }),
  })
  self.fileState = () => reloader.state
  let isStopping = false
  let endChangeLog = (): void => undefined
  if (isLeader) {
    const admin = createAdmin({
      gateway,
      reloader,
      metrics,
      tokens,
      secret,
      tls: config.admin.tls && certificates.open('admin', config.admin.tls),
      log,
      environment,
      thread,
      isStopping: () => isStopping,
    })
    endChangeLog = logChanges(gateway.front.stores.audit, (about, message) =>
      gateway.log.info(about, message),
    )
    try {
      const { host, port } = config.admin
      await admin.listen({ host, port })
    } catch (error) {
      throw portInUse(error, 'admin.port in the configuration')
    }
  }
  const stopping = (): void => {
    gateway.office.comparisons.stop()
    isStopping = true
    thread.close()
    gateway.office.live.wake()
    reloader.close()
    endChangeLog()
  }
  try {
    await serve(gateway, process, {
      ...config.listen,
      stopping,
      times: () => gateway.config,
      parting: () => link?.reason,
    })
    process.off('disconnect', leave)
  } catch (error) {
    throw portInUse(error, 'listen.port in the configuration')
  }
  reload = () =>
    void reloader.reload('SIGHUP').catch((err: unknown) => {
      gateway.log.error({ err }, 'the configuration could not be read; send SIGHUP again')
    })
  const { mirrors } = gateway.office
  link?.serve(reload, (about) => {
    const order = mirrorCommandFrom(about)
    return order ? Promise.resolve(mirrors.apply(order)) : metrics.own()
  })
  await reloader.watch()
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

/** Starts the workers and watches them. Each worker runs this file again, as a worker. */
function oversee(size: number, settings: LogSettings): WorkerPool {
  const log = serviceLog('overseer', settings)
  let isStopping = false
  const pool = new WorkerPool({
    size,
    log,
    listening: (url) => process.send?.({ listening: url }),
    ended: (code) => process.exit(code),
  })
  const stop = (reason: string): void => {
    if (isStopping) return process.exit(1)
    isStopping = true
    log.info({ reason }, 'stopping: all workers finish')
    pool.stop('the overseer stops')
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  process.on('disconnect', () => isStopping || stop('parent gone'))
  return pool
}
