import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { logLevels, standardLog } from '../shared/log.ts'
import type { LogSettings } from '../shared/service.ts'
import { serviceLog } from '../shared/request-log.ts'
import { isLoopback, portInUse, serve } from '../shared/serve.ts'
import { secretFault, secretWarning } from '../shared/signature.ts'
import { createAdmin } from './admin/app.ts'
import { createMetrics } from './admin/metrics.ts'
import { adminTokensFrom } from './admin/token.ts'
import { noterFor, tellChanges } from './records/audit.ts'
import { changeOf } from './config/diff.ts'
import { ConfigError, configFile, readConfig, type Loaded } from './config/load.ts'
import { Reloader } from './config/reload.ts'
import { Crew, Member } from './crew.ts'
import { Gateway } from './server.ts'

const help = `The gateway: authenticates callers, enforces their plans, forwards to a backend.

  npm run gateway              serve
  npm run -s gateway -- --help this text

It reads its configuration again when the file is saved, or on SIGHUP. With several workers, SIGUSR2
puts new ones in their place, one after the other; with one, it does nothing.

Environment:
  TOLLGATE_CONFIG  the configuration file     config/gateway.yaml
  ADMIN_TOKEN      what operators send to the admin address; without it, only health is told there.
                   Several with names, for the audit: alice:TOKEN,bob:TOKEN. Each has 16 characters or more
  GATEWAY_SECRET   shared with the backend, which then takes only what this gateway has signed
  LOG_LEVEL        ${logLevels.join(' ')}   info
`

/** What SIGUSR2 leads to where nobody can take over. */
const alone =
  'SIGUSR2 puts new workers in the place of old ones, and workers is 1: nothing was done; SIGTERM stops'

// While a process starts, V8 may take what a few requests leave behind for what lives for ever, and make it from
// then on where only full collections look: of 320 starts, 15 spent 1.6 times as much on each request ever after,
// in half as much memory again. Told not to, none of 220 did.
setFlagsFromString('--no-allocation-site-pretenuring')
// Garbage beside what lives: 10 % of it, where V8 would let it become 150 %. With 100,000 callers a gateway stays
// at 200 MB; with 30 % it took 218, and half a microsecond less for a request. With 10,000 there is no difference.
setFlagsFromString('--heap-growing-percent=10')
// A request goes through many small functions, ours and those of others: V8 is to join twice as many of them into one
// as it would. A request that is forwarded takes 5 % less (35.1 in place of 37.4 µs); bare http-proxy gains nothing.
setFlagsFromString('--max-inlined-bytecode-size=1000')
setFlagsFromString('--max-inlined-bytecode-size-cumulative=2000')

try {
  await main()
} catch (error) {
  const told = error instanceof Error ? error.message : String(error)
  // Editors and other programs look for places at the beginnings of lines.
  const isPlaced = error instanceof ConfigError && error.mistakes.length > 0
  process.stderr.write(isPlaced ? `${told}\n` : `gateway: ${told}\n`)
  process.exit(2)
}

async function main(): Promise<void> {
  // From the beginning, because by itself it ends the process; a file that is being read need not be read again.
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
  const log = { level, target: standardLog(process) }
  if (config.workers > 1 && cluster.isPrimary) {
    const crew = oversee(config.workers, log)
    reload = () => crew.reload()
    replace = () => void crew.restart()
    return
  }
  const member = cluster.worker && new Member(cluster.worker, process.env)
  // A worker that does not serve yet has nothing to finish, and nobody left to ask for a port.
  const leave = (): void => process.exit(0)
  if (member) process.on('disconnect', leave)
  // What is there once for all workers.
  const isLeader = member?.isLeader ?? true
  const gateway = await Gateway.open({ config, secret, log, descriptors: mostDescriptors() })
  // A worker's overseer does it; a signal for a whole group of processes reaches the workers, too.
  if (!member) replace = () => gateway.log.warn(alone)
  const weakness = secretWarning(secret)
  if (weakness && isLeader) gateway.log.warn(weakness)
  const warnOf = ({ warnings }: Loaded): void => {
    if (isLeader) warnings.forEach((warning) => gateway.log.warn({}, warning))
  }
  warnOf(loaded)
  const metrics = createMetrics(gateway, () => reloader.state, member)
  const reloader: Reloader = new Reloader({
    file,
    environment: process.env,
    loaded,
    change: (config) => gateway.change(config),
    told: (result, { hash, mistakes }, { by, before, loaded }) => {
      metrics.reloaded(result)
      const change = changeOf(file, before, loaded.shown)
      if (change && isLeader) {
        const noted = noterFor(gateway.core.stores.audit, by, Date.now)
        noted(change).catch((err: unknown) => {
          gateway.log.error({ err }, 'a change of the configuration is missing in the audit')
        })
      }
      if (result === 'changed') warnOf(loaded)
      if (mistakes === undefined) gateway.log.info({ hash }, `the configuration is ${result}`)
      else {
        const why = 'the configuration is refused, and the one before stays in force'
        gateway.log.error({ mistakes: mistakes.split('\n') }, why)
      }
    },
  })
  let isStopping = false
  let endTelling = (): void => undefined
  if (isLeader) {
    const admin = createAdmin({
      ...{ gateway, reloader, metrics, tokens, secret, log, isStopping: () => isStopping },
    })
    endTelling = tellChanges(gateway.core.stores.audit, (about, message) =>
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
    isStopping = true
    reloader.close()
    endTelling()
  }
  try {
    await serve(gateway, process, {
      ...config.listen,
      ...{ stopping, times: () => gateway.config, parting: () => member?.reason },
    })
    process.off('disconnect', leave)
  } catch (error) {
    throw portInUse(error, 'listen.port in the configuration')
  }
  reload = () => void reloader.reload('SIGHUP')
  member?.serve(reload, metrics.own)
  await reloader.watch()
}

/** How many files and connections this process may have open, where the system says so. */
function mostDescriptors(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1]) || undefined
  } catch {
    return undefined
  }
}

/** Starts workers and sees to them; each of them comes here again, and goes the other way. */
function oversee(size: number, { level, target }: LogSettings): Crew {
  const log = serviceLog('overseer', level, target)
  let isStopping = false
  const crew = new Crew({
    ...{ size, log },
    listening: (url) => process.send?.({ listening: url }),
    ended: (code) => process.exit(code),
  })
  const stop = (reason: string): void => {
    if (isStopping) return process.exit(1)
    isStopping = true
    log.info({ reason }, 'stopping: all workers finish')
    crew.stop('the overseer stops')
  }
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('SIGINT', () => stop('SIGINT'))
  process.on('disconnect', () => isStopping || stop('parent gone'))
  return crew
}
