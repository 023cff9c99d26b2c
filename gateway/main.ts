import cluster from 'node:cluster'
import { parseArgs } from 'node:util'
import { logLevels, standardLog, type LogSettings } from '../shared/log.ts'
import { keepLittleGarbage, sizeYoungGeneration } from '../shared/node/v8-flags.ts'
import { serviceLog } from '../shared/request-log.ts'
import { tellPlace } from '../shared/serve.ts'
import { ConfigError } from './office/config/config-error.ts'
import { WorkerPool } from './office/worker-pool.ts'
import { portOptions, settingsFrom } from './process-settings.ts'
import type { Signals } from './serving.ts'

const help = `The gateway: authenticates callers, enforces their plans, forwards to a backend.

  npm run gateway                                     serve
  npm run gateway -- --port 9000 --admin-port 9001    at other ports
  npm run -s gateway -- --help                        this text

It reads its configuration again when the file is saved, or on SIGHUP. With several workers, SIGUSR2
puts new ones in their place, one after the other; with one, it does nothing.

Environment:
  TOLLGATE_CONFIG  the configuration file     config/gateway.yaml
  GATEWAY_PORT     the port for callers       the configuration's; --port goes before both (0: any free one)
  ADMIN_PORT       the port for operators     likewise, with --admin-port
  DECIDE_PORT      the port for proxies that ask   likewise, with --decide-port
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
  const options = { ...portOptions, help: { type: 'boolean', short: 'h' } } as const
  const { values } = parseArgs({ options })
  if (values.help) return void process.stdout.write(help)
  const settings = settingsFrom({ ...process.env }, standardLog(process), values)
  const { name, workers } = settings.loaded.config
  if (workers === 1 || cluster.isWorker) {
    // An overseer, or a start that is refused, needs nothing of it: 30 MB, and half of the processor time.
    const { serveGateway } = await import('./serving.ts')
    keepLittleGarbage()
    const { gateway } = await serveGateway(settings, signals, process)
    return sizeYoungGeneration(() => gateway.underWay)
  }
  const pool = oversee(workers, { ...settings.log, name })
  signals.reload = () => pool.reload()
  signals.replace = () => void pool.restart()
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
