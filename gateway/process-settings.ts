import { logLevels, type LogSettings, type LogTarget } from '../shared/log.ts'
import { isLoopback, type Place } from '../shared/serve.ts'
import { secretFault } from '../shared/signature.ts'
import { portOf } from '../shared/units.ts'
import {
  adminTokensFrom,
  guessableWarnings,
  roleWarnings,
  type AdminTokens,
} from './office/admin/token.ts'
import { configFile } from './office/config/file-text.ts'
import { readConfig, type Loaded } from './office/config/load.ts'

/** The settings of a process of the gateway. */
export type ProcessSettings = Readonly<{
  /** The configuration file, and what it says. */
  file: string
  loaded: Loaded
  /** Where it listens: ports that its options or its environment name go before those of the file. */
  places: Readonly<Record<'listen' | 'admin', Place>>
  /** The values that the configuration's `${NAME}` may have. */
  environment: NodeJS.ProcessEnv
  /** Shared with the backend. */
  secret: string | undefined
  tokens: AdminTokens
  /** The weaknesses of the tokens. */
  warnings: readonly string[]
  log: Pick<LogSettings, 'level' | 'target'>
}>

/** The options by which a process is told its ports. */
export const portOptions = { port: { type: 'string' }, 'admin-port': { type: 'string' } } as const

/** The settings of a process by its environment and its options. Throws if one of them is no good. */
export function settingsFrom(
  environment: NodeJS.ProcessEnv,
  target: LogTarget,
  options: Readonly<{ [Name in keyof typeof portOptions]?: string | undefined }> = {},
): ProcessSettings {
  const { LOG_LEVEL = 'info', GATEWAY_SECRET: secret, ADMIN_TOKEN } = environment
  const { GATEWAY_PORT, ADMIN_PORT } = environment
  const port = portOf(['--port', options.port], ['GATEWAY_PORT', GATEWAY_PORT])
  const adminPort = portOf(['--admin-port', options['admin-port']], ['ADMIN_PORT', ADMIN_PORT])
  const fault = secretFault(secret)
  if (fault) throw new Error(fault)
  const tokens = adminTokensFrom(ADMIN_TOKEN)
  const level = logLevels.find((level) => level === LOG_LEVEL)
  if (!level)
    throw new Error(`LOG_LEVEL must be one of ${logLevels.join(', ')}, got "${LOG_LEVEL}"`)
  const file = configFile(environment)
  const loaded = readConfig(file, environment)
  const { listen, admin } = loaded.config
  const { host } = admin
  if (tokens.length === 0 && !isLoopback(host)) {
    throw new Error(
      `admin.host is ${host}, which others can reach: set ADMIN_TOKEN, or take 127.0.0.1`,
    )
  }
  const warnings = [...roleWarnings(ADMIN_TOKEN), ...guessableWarnings(tokens)]
  const places = {
    listen: { host: listen.host, port: port ?? listen.port },
    admin: { host, port: adminPort ?? admin.port },
  }
  return { file, loaded, places, environment, secret, tokens, warnings, log: { level, target } }
}
