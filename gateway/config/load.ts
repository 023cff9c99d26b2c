import { hash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { atOnce, inPieces, type Pieces } from '../../shared/pieces.ts'
import { mistakesIn, nameOf } from './check.ts'
import type { Config } from './config.ts'
import { contradictionsIn, type World } from './contradictions/contradictions.ts'
import { ConfigDocument, type Mistake, type Path } from './document.ts'
import { frozen } from './frozen.ts'
import { configFrom, plansFrom } from './interpret.ts'
import type { Plan } from '../limits/limits.ts'
import type { ConfigFile } from './file.ts'
import { maskedIn } from './masked.ts'
import { readOpenapi } from './openapi-file.ts'
import { fileSchema } from './schema.ts'
import { shownFrom } from './show.ts'
import type { Environment } from './variables.ts'
import { completed, type CompleteFile } from './written.ts'

/** A configuration that can't be used. */
export class ConfigError extends Error {
  /** One line for each mistake, with file, line and column; empty if the file can't even be read. */
  readonly mistakes: readonly string[]

  constructor(message: string, options: ErrorOptions & { mistakes?: readonly string[] } = {}) {
    super(message, options)
    this.mistakes = options.mistakes ?? []
  }
}

/** A sentence about a setting, without its subject. */
export type Fault = readonly [path: Path, sentence: string]
type Remarks = readonly Fault[]

/** A file without mistakes, and the places of its settings. */
export type Preview = Readonly<{
  /** The configuration as operators see it: complete, in the form of the file, without secrets. */
  shown: unknown
  /** One line for each setting that works but makes no sense, with its place. */
  warnings: readonly string[]
  /** Its plans; `variable` for one whose limits wait for a variable of the environment. */
  plans: ReadonlyMap<string, Plan | 'variable'>
  /** The keys and accounts that extensions of sunsets name, with the places of the names. */
  extended: readonly Extended[]
  /** The line of a setting; `undefined` if it isn't written. */
  lineOf: (path: Path) => number | undefined
  /** A foreign text, such as an error message, with `${NAME}` in place of the variables' values. */
  withNames: (text: string) => string
  /** The text at a path as it is written, with `${NAME}`; `undefined` if no text is there. */
  wordAt: (path: Path) => string | undefined
  /** An error about settings, each with its place in the file. */
  fault: (remarks: Remarks) => ConfigError
  /** Warnings of settings, as one line each with its place. */
  warningsOf: (remarks: Remarks) => readonly string[]
}>

/** A key or an account with a later sunset, and its place in the file. */
export type Extended = Readonly<{ path: Path; key?: string; account?: string }>

/** A file that can be used. */
export type Loaded = Preview & Readonly<{ config: Config; text: string }>

/** The longest file that is read: no configuration is that long. */
const mostBytes = 2 ** 20

/** The shipped file. */
const usualFile = 'config/gateway.yaml'

/** The file to read if none is named: that of TOLLGATE_CONFIG, else the shipped one. */
export function configFile(environment: Environment = process.env): string {
  return environment['TOLLGATE_CONFIG'] || usualFile
}

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
  if (text.length > mostBytes)
    throw new ConfigError(`${name} has ${text.length} characters; at most ${mostBytes} are allowed`)
  return atOnce(load(text, environment, name))
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

/**
 * Checks a text from somebody who may see neither this machine's environment nor its files: it reads only the names of
 * variables, and no files. Throws as `parseConfig` does.
 */
export function previewConfig(text: string, environment: Environment, name: string): Preview {
  return atOnce(previewed(text, environment, name))
}

function* previewed(text: string, environment: Environment, name: string): Pieces<Preview> {
  const document = yield* ConfigDocument.read(text, environment, 'names')
  return yield* previewOf(document, name, {
    files: false,
    openapi: false,
    configFile: name,
    adminToken: hasToken(environment),
  })
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
  const preview = yield* previewOf(document, name, {
    ...{ files: true, openapi: readsDocument },
    ...{ configFile: name, adminToken },
  })
  // The preview has checked it against the schema.
  const value = document.value(document.root) as ConfigFile
  yield
  const file = completed(value)
  yield
  const settings = configFrom(file, {
    certificates: (file) => readFileSync(file, 'utf8'),
    document: (file) => (readsDocument ? (readOpenapi(file, name).json ?? '{}') : '{}'),
  })
  yield
  const config = frozen({ ...settings, hash: hashOf(text) })
  return { ...preview, config, text }
}

/** Checks a document; throws a `ConfigError` with all its mistakes. */
function* previewOf(document: ConfigDocument, name: string, world: World): Pieces<Preview> {
  const mistakes = [...document.mistakes]
  if (document.isSound) {
    yield
    const ofSchema = yield* mistakesIn(document, fileSchema)
    const faults = [...mistakes, ...ofSchema, ...maskedIn(document)]
    yield
    const more = [...faults, ...(yield* contradictionsIn(document, faults, world))]
    // A missing variable causes further mistakes at its offset, which aren't worth reporting.
    const reported = new Set(mistakes.map(({ offset }) => offset))
    mistakes.push(...more.filter(({ offset }) => !reported.has(offset)))
  }
  const lines = (isWarning: boolean): string[] =>
    linesOf(
      document,
      name,
      mistakes.filter((each) => Boolean(each.isWarning) === isWarning),
    )
  const [wrong, warnings] = [lines(false), lines(true)]
  if (wrong.length > 0) throw new ConfigError(wrong.join('\n'), { mistakes: wrong })
  const about = (remarks: Remarks, isWarning: boolean): string[] => {
    const faults = remarks.map(([path, sentence]) => {
      const offset = document.offsetOf(path)
      return { offset, sentence: `${nameOf(path)} ${sentence}`, isWarning }
    })
    return linesOf(document, name, faults)
  }
  yield
  // `shown` has the form that was just checked.
  const file = completed(document.shown() as ConfigFile)
  yield
  const shown = frozen(shownFrom(file))
  yield
  return {
    shown,
    warnings,
    plans: plansOf(file),
    lineOf: (path) => document.lineOf(path),
    withNames: (text) => document.withNames(text),
    wordAt: (path) => document.wordAt(path),
    extended: extendedIn(file),
    fault: (remarks) => {
      const lines = about(remarks, false)
      return new ConfigError(lines.join('\n'), { mistakes: lines })
    },
    warningsOf: (remarks) => about(remarks, true),
  }
}

function extendedIn({ deprecations }: ReturnType<typeof completed>): Extended[] {
  return deprecations.flatMap(({ extensions }, i) =>
    extensions.flatMap((each, j) => {
      const whose = 'key' in each ? { key: each.key } : { account: each.account }
      const path = ['deprecations', i, 'extensions', j, ...Object.keys(whose)]
      return hasVariable(whose) ? [] : [{ path, ...whose }]
    }),
  )
}

/** The plans of a complete file; `variable` for one whose limits wait for a variable of the environment. */
export function plansOf({ plans }: Pick<CompleteFile, 'plans'>): Preview['plans'] {
  const entries = Object.entries(plans)
  return new Map<string, Plan | 'variable'>([
    ...entries.map(([name]) => [name, 'variable'] as const),
    ...plansFrom(Object.fromEntries(entries.filter((plan) => !hasVariable(plan)))),
  ])
}

/** A short name of a text: another text has another one. */
export function hashOf(text: string): string {
  return hash('sha256', text).slice(0, 12)
}

function hasVariable(value: unknown): boolean {
  return JSON.stringify(value).includes('${')
}

function hasToken(environment: Environment): boolean {
  return Boolean(environment['ADMIN_TOKEN'])
}

/** The mistakes as lines with places, in the order of the file. */
function linesOf(document: ConfigDocument, name: string, mistakes: readonly Mistake[]): string[] {
  const sorted = [...mistakes].sort((a, b) => a.offset - b.offset)
  const lines = sorted.map(({ offset, sentence, isWarning = false }) => {
    return `${name}:${document.position(offset)}: ${isWarning ? 'warning: ' : ''}${sentence}`
  })
  return [...new Set(lines)]
}

/** The text of a configuration file. Throws a `ConfigError` that says why it can't be read. */
export function textOf(file: string): string {
  try {
    const { size } = statSync(file)
    if (size > mostBytes) throw new Error(`it has ${size} bytes; at most ${mostBytes} are allowed`)
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
