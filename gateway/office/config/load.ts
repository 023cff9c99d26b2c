import { atOnce, inPieces, type Pieces } from '../../../shared/pieces.ts'
import type { Config } from '../../front/config/config.ts'
import { ConfigError } from './config-error.ts'
import { ConfigDocument } from './document.ts'
import type { ConfigFile } from './file.ts'
import { frozen } from './frozen.ts'
import { configFrom } from './interpret.ts'
import { NamedFiles } from './named-files.ts'
import { previewOf, type Preview } from './preview.ts'
import { hashOf, mostBytes, sharedHashOf, textOf } from './file-text.ts'
import { hasToken, type Environment } from './variables.ts'
import { withDefaults } from './defaults.ts'

/** A file that can be used. */
export type Loaded = Preview &
  Readonly<{
    config: Config
    text: string
    /** The same for files that differ only in what each machine has for itself. It hashes no variable's value. */
    sharedHash: string
  }>

/** Reads, completes and checks a configuration file. Throws a `ConfigError` with all its mistakes. */
export function loadConfig(file: string, environment: Environment = process.env): Config {
  return readConfig(file, environment).config
}

/**
 * Like `loadConfig`, with the file's text and the places of its settings. A command that has no use for the OpenAPI document
 * leaves it unread: 50 KB of YAML take a tenth of a second.
 */
export function readConfig(
  file: string,
  environment: Environment = process.env,
  readsDocument = true,
): Loaded {
  return atOnce(load(textOf(file), environment, file, readsDocument))
}

/** Like `readConfig`, in pieces between which requests go on: 1,000 routes take 70 ms. */
export async function readConfigInPieces(file: string, environment: Environment): Promise<Loaded> {
  return inPieces(load(textOf(file), environment, file))
}

/** Like `readConfig` for a text that is in no file; messages call it `name`. */
export function loadedFrom(text: string, environment: Environment, name: string): Loaded {
  return atOnce(loadGiven(text, environment, name))
}

/** Like `loadedFrom`, in pieces between which requests go on. */
export function loadedInPieces(
  text: string,
  environment: Environment,
  name: string,
): Promise<Loaded> {
  return inPieces(loadGiven(text, environment, name))
}

function* loadGiven(text: string, environment: Environment, name: string): Pieces<Loaded> {
  if (text.length > mostBytes)
    throw new ConfigError(`${name} has ${text.length} characters; at most ${mostBytes} are allowed`)
  return yield* load(text, environment, name)
}

/** The configuration from an object of the file's form, as programs give it. */
export function configOf(written: ConfigFile): Config {
  return readObject(written).config
}

/** Like `configOf`, with warnings. Messages have no line and column. */
export function readObject(written: ConfigFile): Pick<Loaded, 'config' | 'warnings'> {
  const placeless = (lines: readonly string[]): string[] =>
    lines.map((line) => line.replace(/^config:\d+:\d+: /, ''))
  try {
    const { config, warnings } = atOnce(load(JSON.stringify(written), undefined, 'config'))
    return { config, warnings: placeless(warnings) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const mistakes = placeless(error.mistakes)
    throw new ConfigError(mistakes.join('\n'), { cause: error, mistakes })
  }
}

/** The configuration from a text; messages call it `name`. */
export function parseConfig(text: string, environment: Environment, name: string): Config {
  return atOnce(load(text, environment, name)).config
}

function* load(
  text: string,
  environment: Environment | undefined,
  name: string,
  readsDocument = true,
): Pieces<Loaded> {
  const document = yield* ConfigDocument.read(text, environment)
  // A program that brings an object guards its admin address itself.
  const adminToken = environment === undefined || hasToken(environment)
  const files = new NamedFiles(name, { readsDocument })
  const preview = yield* previewOf(document, name, { files, adminToken })
  // The preview has checked it against the schema.
  const value = document.value(document.root) as ConfigFile
  yield
  const file = withDefaults(value)
  yield
  const settings = configFrom(file, {
    certificates: (file) => checked(files.certificates(file).text),
    document: (file) => checked(files.openapi(file).json),
  })
  yield
  const config = frozen({ ...settings, hash: hashOf(text) })
  yield
  // The preview has checked it against the schema.
  const sharedHash = sharedHashOf(document.written() as ConfigFile)
  return { ...preview, config, text, sharedHash }
}

function checked(text: string | undefined): string {
  if (text === undefined) throw new Error('a file that the configuration names was not checked')
  return text
}
