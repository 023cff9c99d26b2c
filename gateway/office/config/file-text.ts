import { overMost } from '../../../shared/commas.ts'
import { hash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { ConfigError } from './config-error.ts'
import type { ConfigFile } from './file.ts'
import type { Environment } from './variables.ts'

/** The longest file that is read: no configuration is that long. */
export const mostBytes = 2 ** 20

/** The sections that each machine may have for itself. */
const ownSections = ['name', 'listen', 'admin', 'decide']

/** The shipped file. */
const usualFile = 'config/gateway.yaml'

/** The file to read if none is named: that of TOLLGATE_CONFIG, else the shipped one. */
export function configFile(environment: Environment = process.env): string {
  return environment['TOLLGATE_CONFIG'] || usualFile
}

/** The text of a configuration file. Throws a `ConfigError` that says why it can't be read. */
export function textOf(file: string): string {
  try {
    const { size } = statSync(file)
    if (size > mostBytes) throw new Error(`it has ${overMost(size, 'bytes', mostBytes)}`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    // The hint is for users who named no file.
    const hint = file === usualFile ? ' (name one with --config or TOLLGATE_CONFIG)' : ''
    throw new ConfigError(`the configuration ${file} can't be read: ${reason}${hint}`, {
      cause: error,
    })
  }
}

/** A short name of a text: another text has another one. */
export function hashOf(text: string): string {
  return hash('sha256', text).slice(0, 12)
}

/** A short name of all that the gateways of a fleet have in common, from a file's values as they are written. */
export function sharedHashOf(written: ConfigFile): string {
  const shared = Object.entries(written).filter(([section]) => !ownSections.includes(section))
  return hashOf(JSON.stringify(shared))
}
