import { readFileSync, statSync } from 'node:fs'
import Value from 'typebox/value'
import { mistakesIn, nameOf } from './check.ts'
import { configFrom, type Config } from './config.ts'
import { contradictionsIn } from './contradictions.ts'
import { ConfigDocument, type Environment, type Mistake, type Path } from './document.ts'
import { frozen } from './frozen.ts'
import { fileSchema, type ConfigFile } from './schema.ts'
import { shownFrom } from './show.ts'

/** A configuration that can't be used, with everything that is wrong with it, a line each. */
export class ConfigError extends Error {}

/** A file that can be used: what it says, and where it says so. */
export type Loaded = Readonly<{
  config: Config
  text: string
  /** What it says as it is shown: complete, and without what is secret. */
  shown: unknown
  /** A text of somebody else's, such as an error, without what the environment has put into the file. */
  withNames: (text: string) => string
  /** An error that says something about settings, each at the place where it stands. */
  fault: (sayings: readonly (readonly [path: Path, sentence: string])[]) => ConfigError
}>

/** No configuration is as long; what is, is something else. */
const mostBytes = 2 ** 20

/** The file to read where none is named: what the environment says, else the one that is shipped. */
export function configFile(environment: Environment = process.env): string {
  return environment['TOLLGATE_CONFIG'] || 'config/gateway.yaml'
}

/** Reads, completes and checks a configuration file. Throws a `ConfigError` with all its mistakes. */
export function loadConfig(file: string, environment: Environment = process.env): Config {
  return readConfig(file, environment).config
}

/** The same, with the text that was read and where in it settings stand. */
export function readConfig(file: string, environment: Environment = process.env): Loaded {
  return load(textOf(file), environment, file)
}

/** The same for what a program has put together, as the file would say it. */
export function configOf(written: ConfigFile): Config {
  try {
    return load(JSON.stringify(written), undefined, 'config').config
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(error.message.replace(/^config:\d+:\d+: /gm, ''), { cause: error })
  }
}

/** The same for a text; `name` is what messages call it. */
export function parseConfig(text: string, environment: Environment, name: string): Config {
  return load(text, environment, name).config
}

/**
 * What a text would put in force, as it is shown, for somebody who has neither this machine's environment nor
 * its files: of variables only the names are looked at, of files nothing. Throws as `parseConfig` does.
 */
export function previewConfig(text: string, environment: Environment, name: string): unknown {
  const document = new ConfigDocument(text, environment, 'names')
  requireSound(document, name, false)
  return shownFrom(document.shown() as ConfigFile)
}

function load(text: string, environment: Environment | undefined, name: string): Loaded {
  const document = new ConfigDocument(text, environment)
  requireSound(document, name, true)
  const value = document.value(document.root)
  // It has been looked at piece by piece; this says so to the compiler.
  if (!Value.Check(fileSchema, value))
    throw new ConfigError(`${name}: it is not as its schema says`)
  const fault: Loaded['fault'] = (sayings) => {
    const mistakes = sayings.map(([path, sentence]) => ({
      offset: document.offsetOf(path),
      sentence: `${nameOf(path)} ${sentence}`,
    }))
    return faultOf(document, name, mistakes)
  }
  return {
    config: frozen(configFrom(value)),
    text,
    // Of the same form as what has been checked.
    shown: frozen(shownFrom(document.shown() as ConfigFile)),
    withNames: (told) => document.withNames(told),
    fault,
  }
}

/** Throws a `ConfigError` with all that is wrong with a document; `world`: with this machine's files as well. */
function requireSound(document: ConfigDocument, name: string, world: boolean): void {
  const mistakes = [...document.mistakes]
  if (document.isSound) {
    const more = [...mistakesIn(document, fileSchema), ...contradictionsIn(document, world)]
    // Where a variable is missing, what is wrong without it is no news.
    const told = new Set(mistakes.map(({ offset }) => offset))
    mistakes.push(...more.filter(({ offset }) => !told.has(offset)))
  }
  if (mistakes.length > 0) throw faultOf(document, name, mistakes)
}

function faultOf(
  document: ConfigDocument,
  name: string,
  mistakes: readonly Mistake[],
): ConfigError {
  const sorted = [...mistakes].sort((a, b) => a.offset - b.offset)
  const lines = sorted.map(
    ({ offset, sentence }) => `${name}:${document.position(offset)}: ${sentence}`,
  )
  return new ConfigError([...new Set(lines)].join('\n'))
}

/** The text of a configuration file, or a sentence why there is none. */
export function textOf(file: string): string {
  try {
    const { size } = statSync(file)
    if (size > mostBytes) throw new Error(`it has ${size} bytes, and may have ${mostBytes}`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError(
      `the configuration ${file} can't be read: ${reason} (name one with --config or TOLLGATE_CONFIG)`,
      { cause: error },
    )
  }
}
