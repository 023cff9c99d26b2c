import cluster from 'node:cluster'
import { parseArgs } from 'node:util'
import { logLevels, standardLog, type LogSettings } from '../shared/log.ts'
import { keepLittleGarbage } from '../shared/node/v8-flags.ts'
import { serviceLog } from '../shared/request-log.ts'
import { isLoopback, tellPlace } from '../shared/serve.ts'
import { secretFault } from '../shared/signature.ts'
import { adminTokensFrom, guessableWarnings, roleWarnings } from './office/admin/token.ts'
import { ConfigError } from './office/config/config-error.ts'
import { configFile } from './office/config/file-text.ts'
import { readConfig } from './office/config/load.ts'
import { WorkerPool } from './office/worker-pool.ts'
import type { ProcessSettings, Signals } from './serving.ts'

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
  const signals: Signals = { reload: () => undefined, replace: () => undefined }
  process.on('SIGHUP', () => signals.reload())
  process.on('SIGUSR2', () => signals.replace())
  const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } })
  if (values.help) return void process.stdout.write(help)
  const settings = settingsFrom(process.env)
  const { name, workers } = settings.loaded.config
  if (workers === 1 || cluster.isWorker) {
    // An overseer, or a start that is refused, needs nothing of it: 30 MB, and half of the processor time.
    const { serveGateway } = await import('./serving.ts')
    keepLittleGarbage()
    return serveGateway(settings, signals)
  }
  const pool = oversee(workers, { ...settings.log, name })
  signals.reload = () => pool.reload()
  signals.replace = () => void pool.restart()
}

/** The settings of a process. Throws if one of them is no good. */
function settingsFrom(environment: NodeJS.ProcessEnv): ProcessSettings {
  const { LOG_LEVEL = 'info', GATEWAY_SECRET: secret, ADMIN_TOKEN } = environment
  const fault = secretFault(secret)
  if (fault) throw new Error(fault)
  const tokens = adminTokensFrom(ADMIN_TOKEN)
  const level = logLevels.find((level) => level === LOG_LEVEL)
  if (!level)
    throw new Error(`LOG_LEVEL must be one of ${logLevels.join(', ')}, got "${LOG_LEVEL}"`)
  const file = configFile()
  const loaded = readConfig(file)
  const { host } = loaded.config.admin
  if (tokens.length === 0 && !isLoopback(host)) {
    throw new Error(
      `admin.host is ${host}, which others can reach: set ADMIN_TOKEN, or take 127.0.0.1`,
    )
  }
  const warnings = [...roleWarnings(ADMIN_TOKEN), ...guessableWarnings(tokens)]
  return { file, loaded, secret, tokens, warnings, log: { level, target: standardLog(process) } }
}

/** Starts the workers and watches them. Each worker runs this file again, as a worker. */
function oversee(size: number, settings: LogSettings): WorkerPool {
  const log = serviceLog('overseer', settings)
  let isStopping = false
  const pool = new WorkerPool({
    size,
    log,
    listening: (url) => tellPlace(process, url),
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
