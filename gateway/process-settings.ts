import { logLevels, type LogTarget } from '../shared/log.ts'
import { isLoopback } from '../shared/serve.ts'
import { portOf } from '../shared/units.ts'
import { configFile } from './office/config/file-text.ts'
import { readConfig } from './office/config/load.ts'
import { ProcessSecrets } from './process-secrets.ts'

/** The settings of a process of the gateway. */
export type ProcessSettings = ReturnType<typeof settingsFrom>

/** The options by which a process is told its ports. */
export const portOptions = {
  port: { type: 'string' },
  'admin-port': { type: 'string' },
  'decide-port': { type: 'string' },
} as const

/**
 * The settings of a process by its options and its environment, which has the values that the configuration's `${NAME}` may
 * have. Throws if one of them is no good.
 */
export function settingsFrom(
  environment: NodeJS.ProcessEnv,
  target: LogTarget,
  options: Readonly<{ [Name in keyof typeof portOptions]?: string | undefined }> = {},
) {
  const { LOG_LEVEL = 'info', GATEWAY_PORT, ADMIN_PORT, DECIDE_PORT } = environment
  const port = portOf(['--port', options.port], ['GATEWAY_PORT', GATEWAY_PORT])
  const adminPort = portOf(['--admin-port', options['admin-port']], ['ADMIN_PORT', ADMIN_PORT])
  const decidePort = portOf(['--decide-port', options['decide-port']], ['DECIDE_PORT', DECIDE_PORT])
  const secrets = new ProcessSecrets(environment)
  const { tokens } = secrets
  const level = logLevels.find((level) => level === LOG_LEVEL)
  if (!level)
    throw new Error(`LOG_LEVEL must be one of ${logLevels.join(', ')}, got "${LOG_LEVEL}"`)
  /** The configuration file, and what it says. */
  const file = configFile(environment)
  const loaded = readConfig(file, environment)
  const { listen, admin, decide } = loaded.config
  const { host } = admin
  if (tokens.length === 0 && !isLoopback(host) && !admin.trust) {
    throw new Error(
      `admin.host is ${host}, which others can reach: set ADMIN_TOKEN or admin.trust, or take 127.0.0.1`,
    )
  }
  /** Ports that options or environment name go before those of the file. */
  const places = {
    listen: { host: listen.host, port: port ?? listen.port },
    admin: { host, port: adminPort ?? admin.port },
    decide: decide && { host: decide.host, port: decidePort ?? decide.port },
  }
  return { file, loaded, places, environment, secrets, log: { level, target } }
}
