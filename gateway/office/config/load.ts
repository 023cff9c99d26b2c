import { overMost } from '../../../shared/commas.ts'
import type { Config } from '../../front/config/config.ts'
import { ConfigError } from './config-error.ts'
import { isDeeper, mostLevels } from './yaml-document.ts'
import { ConfigDocument } from './document.ts'
import type { ConfigFile } from './file.ts'
import { frozen } from '../../../shared/frozen.ts'
import { configFrom } from './interpret.ts'
import { NamedFiles } from './named-files.ts'
import { previewOf, type Preview } from './preview.ts'
import { hashOf, mostBytes, sharedHashOf, textOf } from './file-text.ts'
import { hasToken, type Environment, type ReadSecret } from './variables.ts'
import { withDefaults } from './defaults.ts'

/** A file that can be used. */
export type Loaded = Readonly<ReturnType<typeof load>>

/**
 * Who reads a configuration: a gateway; an app, which may have routes of its own alone; or a command, which has no use for
 * routes, nor for the OpenAPI document: 50 KB of YAML take a tenth of a second.
 */
type Reader = 'gateway' | 'app' | 'command'

/** Reads, completes and checks a configuration file. Throws a `ConfigError` with all its mistakes. */
export function loadConfig(file: string, environment: Environment = process.env): Config {
  return readConfig(file, environment, 'app').config
}

/** Like `loadConfig`, with the file's text and the places of its settings. */
export function readConfig(
  file: string,
  environment: Environment = process.env,
  reader: Reader = 'gateway',
): Loaded {
  return load(textOf(file), environment, file, reader)
}

/** Like `readConfig` for a text that is in no file; messages call it `name`. */
export function loadedFrom(
  text: string,
  environment: Environment,
  name: string,
  reader: Reader = 'gateway',
  readSecret?: ReadSecret,
): Loaded {
  requireShort(text, name)
  return load(text, environment, name, reader, readSecret)
}

/** Checks a text like `loadedFrom`, but a value whose variable isn't set may be any that could stand there. */
export function previewOfSet(text: string, environment: Environment, name: string): Preview {
  requireShort(text, name)
  const document = new ConfigDocument(text, environment, 'set values')
  const files = new NamedFiles(name, { readsDocument: true })
  return previewOf(document, name, { files, adminToken: hasToken(environment), needsRoutes: true })
}

function requireShort(text: string, name: string): void {
  if (text.length <= mostBytes) return
  throw new ConfigError(`${name} has ${overMost(text.length, 'characters', mostBytes)}`)
}

/** The configuration from an object of the file's form, as programs give it. */
export function configOf(written: ConfigFile): Config {
  return readObject(written).config
}

/** Like `configOf`, with the places of its settings. Messages have no line and column. */
export function readObject(written: ConfigFile): Loaded {
  try {
    const loaded = load(JSON.stringify(written), undefined, 'config', 'app')
    return {
      ...loaded,
      warnings: placeless(loaded.warnings),
      fault: (remarks) => withoutPlaces(loaded.fault(remarks)),
    }
  } catch (error) {
    throw error instanceof ConfigError ? withoutPlaces(error) : error
  }
}

function withoutPlaces(error: ConfigError): ConfigError {
  return ConfigError.of(placeless(error.mistakes), { cause: error, more: error.more })
}

function placeless(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/^config:\d+:\d+: /, ''))
}

/** The configuration from a text; messages call it `name`. */
export function parseConfig(text: string, environment: Environment, name: string): Config {
  return load(text, environment, name, 'gateway').config
}

function load(
  text: string,
  environment: Environment | undefined,
  name: string,
  reader: Reader,
  readSecret?: ReadSecret,
) {
  const document = new ConfigDocument(text, environment, 'values', readSecret)
  // A program that brings an object guards its admin address itself.
  const adminToken = environment === undefined || hasToken(environment)
  const files = new NamedFiles(name, { readsDocument: reader !== 'command' })
  const needsRoutes = reader === 'gateway'
  const preview = previewOf(document, name, { files, adminToken, needsRoutes })
  // The preview has checked it against the schema.
  const value = document.value(document.root) as ConfigFile
  const file = withDefaults(value)
  const settings = configFrom(file, {
    keySet: (file) => checked(files.keySet(file).text),
    document: (file) => checked(files.openapi(file).json),
  })
  const config = frozen({ ...settings, hash: hashOf(text) })
  /** The same for files that differ only in what each machine has for itself. It hashes no variable's value. */
  const sharedHash = sharedHashOf(document.written() as ConfigFile)
  const read = [...document.filled.secrets].map(([file, secret]) => [file, hashOf(secret)] as const)
  /** The digests of the secrets that were read from files, by the files' names. */
  const secrets: Readonly<Record<string, string>> = Object.fromEntries(read)
  return { ...preview, config, text, secrets, sharedHash }
}

function checked(text: string | undefined): string {
  if (text === undefined) throw new Error('a file that the configuration names was not checked')
  return text
}

/** The configuration of a path, or of the content of a file. */
export function configIn(source: unknown): Loaded {
  if (typeof source === 'string') return readConfig(source, process.env, 'app')
  // The check of the object is the configuration's own.
  if (typeof source === 'object' && source !== null) {
    if (!isDeeper(source, mostLevels)) return readObject(source as ConfigFile)
    throw new ConfigError(`the configuration has more than ${mostLevels} levels`)
  }
  throw new TypeError(
    'Tollgate needs the path of a configuration file, or its content as an object',
  )
}
