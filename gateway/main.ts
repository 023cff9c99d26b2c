import { logLevels } from '../shared/log.ts'
import { serve } from '../shared/serve.ts'
import { configFile, loadConfig } from './config/load.ts'
import { createGateway } from './server.ts'

try {
  const { LOG_LEVEL = 'info', GATEWAY_SECRET: secret } = process.env
  const level = logLevels.find((level) => level === LOG_LEVEL)
  if (!level)
    throw new Error(`LOG_LEVEL must be one of ${logLevels.join(', ')}, got "${LOG_LEVEL}"`)
  const config = loadConfig(configFile())
  const app = await createGateway({ config, secret, log: { level, target: process.stdout } })
  await serve(app, process, config.listen)
} catch (error) {
  process.stderr.write(`gateway: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
}
