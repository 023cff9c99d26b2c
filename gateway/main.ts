import { parseArgs } from 'node:util'
import { logLevels } from '../shared/log.ts'
import { portInUse, serve } from '../shared/serve.ts'
import { configFile, loadConfig } from './config/load.ts'
import { createGateway } from './server.ts'

const help = `The gateway: authenticates callers, enforces their plans, forwards to a backend.

  npm run gateway              serve
  npm run -s gateway -- --help this text

Environment:
  TOLLGATE_CONFIG  the configuration file     config/gateway.yaml
  GATEWAY_SECRET   shared with the backend, which then takes only what this gateway has signed
  LOG_LEVEL        ${logLevels.join(' ')}   info
`

try {
  await main()
} catch (error) {
  process.stderr.write(`gateway: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } })
  if (values.help) return void process.stdout.write(help)
  const { LOG_LEVEL = 'info', GATEWAY_SECRET: secret } = process.env
  const level = logLevels.find((level) => level === LOG_LEVEL)
  if (!level)
    throw new Error(`LOG_LEVEL must be one of ${logLevels.join(', ')}, got "${LOG_LEVEL}"`)
  const config = loadConfig(configFile())
  const app = await createGateway({ config, secret, log: { level, target: process.stdout } })
  try {
    await serve(app, process, config.listen)
  } catch (error) {
    throw portInUse(error, 'listen.port in the configuration')
  }
}
