import { readFileSync, statSync } from 'node:fs'
import Value from 'typebox/value'
import { mistakesIn, nameOf } from './check.ts'
import type { Config, Route } from './config.ts'
import { contradictionsIn, type World } from './contradictions/contradictions.ts'
import { ConfigDocument, type Mistake, type Path } from './document.ts'
import { frozen } from './frozen.ts'
import { configFrom, routesFrom } from './interpret.ts'
import type { ConfigFile } from './file.ts'
import { maskedIn } from './masked.ts'
import { fileSchema } from './schema.ts'
import { shownFrom } from './show.ts'
import type { Environment } from './variables.ts'
import { completed } from './written.ts'

/** A configuration that can't be used. */
export class ConfigError extends Error {
  /** Everything that is wrong with it, a line each, with its place; nothing if it can't even be read. */
  readonly mistakes: readonly string[]

  constructor(message: string, options: ErrorOptions & { mistakes?: readonly string[] } = {}) {
    super(message, options)
    this.mistakes = options.mistakes ?? []
  }
}

/** What a gateway has routes for: its callers' requests, and where they ask how they stand. */
export type Served = Readonly<{ quotaPath: string | undefined; routes: readonly Route[] }>

/** A file that is sound: what it says, and where it says so. */
export type Preview = Readonly<{
  /** What it says as it is shown: complete, in the form of the file, and without what is secret. */
  shown: unknown
  /** What works, but makes no sense: a line each, with its place. */
  warnings: readonly string[]
  /** What must find room beside each other in a router, as far as it is known. */
  served: Served
  /** A text of somebody else's, such as an error, without what the environment has put into the file. */
  withNames: (text: string) => string
  /** The text at a place as it is written, variables by their names; nothing if there is none. */
  wordAt: (path: Path) => string | undefined
  /** An error that says something about settings, each at the place where it stands. */
  fault: (sayings: readonly (readonly [path: Path, sentence: string])[]) => ConfigError
}>

/** A file that can be used. */
export type Loaded = Preview & Readonly<{ config: Config; text: string }>

/** No configuration is as long; what is, is something else. */
const mostBytes = 2 ** 20

/** The file that is shipped. */
const usualFile = 'config/gateway.yaml'

/** The file to read where none is named: what the environment says, else the one that is shipped. */
export function configFile(environment: Environment = process.env): string {
  return environment['TOLLGATE_CONFIG'] || usualFile
}

/** Reads, completes and checks a configuration file. Throws a `ConfigError` with all its mistakes. */
export function loadConfig(file: string, environment: Environment = process.env): Config {
  return readConfig(file, environment).config
}

/** The same, with the text that was read and where in it settings stand. */
export function readConfig(file: string, environment: Environment = process.env): Loaded {
  return load(textOf(file), environment, file)
}

/** The same for a text that stands in no file; `name` is what messages call it. */
export function loadedFrom(text: string, environment: Environment, name: string): Loaded {
  if (text.length > mostBytes)
    throw new ConfigError(`${name} has ${text.length} characters, and may have ${mostBytes}`)
  return load(text, environment, name)
}

/** The same for what a program has put together, as the file would say it. */
export function configOf(written: ConfigFile): Config {
  return readObject(written).config
}

/** The same, with its warnings; nothing that is said of it has a place. */
export function readObject(written: ConfigFile): Pick<Loaded, 'config' | 'warnings'> {
  const placeless = (lines: readonly string[]): string[] =>
    lines.map((line) => line.replace(/^config:\d+:\d+: /, ''))
  try {
    const { config, warnings } = load(JSON.stringify(written), undefined, 'config')
    return { config, warnings: placeless(warnings) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const mistakes = placeless(error.mistakes)
    throw new ConfigError(mistakes.join('\n'), { cause: error, mistakes })
  }
}

/** The same for a text; `name` is what messages call it. */
export function parseConfig(text: string, environment: Environment, name: string): Config {
  return load(text, environment, name).config
}

/**
 * A text of somebody who has neither this machine's environment nor its files: of variables only the names are
 * looked at, of files nothing. Throws as `parseConfig` does.
 */
export function previewConfig(text: string, environment: Environment, name: string): Preview {
  const document = new ConfigDocument(text, environment, 'names')
  return soundly(document, name, { files: false, adminToken: hasToken(environment) })
}

function load(text: string, environment: Environment | undefined, name: string): Loaded {
  const document = new ConfigDocument(text, environment)
  // A program says for itself who may reach its operators.
  const adminToken = environment === undefined || hasToken(environment)
  const sound = soundly(document, name, { files: true, adminToken })
  const value = document.value(document.root)
  // It has been looked at piece by piece; this says so to the compiler.
  if (!Value.Check(fileSchema, value))
    throw new ConfigError(`${name}: it is not as its schema says`)
  const config = frozen(configFrom(completed(value), (file) => readFileSync(file, 'utf8')))
  return { ...sound, served: config, config, text }
}

/** Throws a `ConfigError` with all that is wrong with a document. */
function soundly(document: ConfigDocument, name: string, world: World): Preview {
  const mistakes = [...document.mistakes]
  if (document.isSound) {
    const faults = [...mistakes, ...mistakesIn(document, fileSchema), ...maskedIn(document)]
    const more = [...faults, ...contradictionsIn(document, faults, world)]
    // Where a variable is missing, what is wrong without it is no news.
    const told = new Set(mistakes.map(({ offset }) => offset))
    mistakes.push(...more.filter(({ offset }) => !told.has(offset)))
  }
  const lines = (isWarning: boolean): string[] =>
    linesOf(
      document,
      name,
      mistakes.filter((each) => Boolean(each.isWarning) === isWarning),
    )
  const [wrong, warnings] = [lines(false), lines(true)]
  if (wrong.length > 0) throw new ConfigError(wrong.join('\n'), { mistakes: wrong })
  // Of the same form as what has been checked.
  const file = completed(document.shown() as ConfigFile)
  return {
    shown: frozen(shownFrom(file)),
    warnings,
    served: {
      quotaPath: [file.quota.path].find((path) => !path.includes('${')),
      routes: routesFrom(file.routes).filter(isKnown),
    },
    withNames: (told) => document.withNames(told),
    wordAt: (path) => document.wordAt(path),
    fault: (sayings) => {
      const faults = sayings.map(([path, sentence]) => ({
        offset: document.offsetOf(path),
        sentence: `${nameOf(path)} ${sentence}`,
      }))
      const told = linesOf(document, name, faults)
      return new ConfigError(told.join('\n'), { mistakes: told })
    },
  }
}

/** Whether no variable decides where a route is. */
function isKnown({ path, methods, rewrite = '' }: Route): boolean {
  return ![path, rewrite, ...methods].some((text) => text.includes('${'))
}

function hasToken(environment: Environment): boolean {
  return Boolean(environment['ADMIN_TOKEN'])
}

/** The lines that people read, in the order of the file. */
function linesOf(document: ConfigDocument, name: string, mistakes: readonly Mistake[]): string[] {
  const sorted = [...mistakes].sort((a, b) => a.offset - b.offset)
  const lines = sorted.map(({ offset, sentence, isWarning = false }) => {
    return `${name}:${document.position(offset)}: ${isWarning ? 'warning: ' : ''}${sentence}`
  })
  return [...new Set(lines)]
}

/** The text of a configuration file, or a sentence why there is none. */
export function textOf(file: string): string {
  try {
    const { size } = statSync(file)
    if (size > mostBytes) throw new Error(`it has ${size} bytes, and may have ${mostBytes}`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    // A user who has named a file knows how to.
    const hint = file === usualFile ? ' (name one with --config or TOLLGATE_CONFIG)' : ''
    throw new ConfigError(`the configuration ${file} can't be read: ${reason}${hint}`, {
      cause: error,
    })
  }
}
