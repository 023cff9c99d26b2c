import type { Config } from '../../front/config/config.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { secretIn } from '../../../shared/secret-files.ts'
import { ConfigError } from './config-error.ts'
import { changeOf } from './diff.ts'
import { ConfigDocument } from './document.ts'
import { editedText, type Settings } from './edit/edit.ts'
import { unifiedDiff } from './edit/unified-diff.ts'
import { textOf } from './file-text.ts'
import { loadedFrom, type Loaded } from './load.ts'
import { previewConfig, previewOf, type Fault, type Preview } from './preview.ts'
import {
  baredText,
  guardedText,
  hasToken,
  namesIn,
  secretFileOf,
  type Environment,
  type ReadSecret,
} from './variables.ts'
import { visit } from 'yaml'
import { yamlDocument } from './yaml-document.ts'

/** A configuration without mistakes, as data: a gateway puts it in force. */
export type Candidate = Readonly<ReturnType<ConfigDesk['read']>>

/** The configuration in force, and its text. */
type InForce = Preview & Pick<Loaded, 'config' | 'text'>

/** The result of checking a configuration: a preview, or its mistakes. */
export type Examined = ReturnType<typeof examined>

export type ConfigDeskOptions = Readonly<{
  file: string
  /** The values of the file's `${NAME}`. */
  environment: Environment
  /** The text in force, and the configuration that was made of it. */
  text: string
  config: Config
}>

/**
 * Reads, checks and compares configurations for one gateway. All of it takes long with a long file, so a gateway asks its
 * desk in the office's thread, one question after the other, by `AskDesk`. Throws a `ConfigError` for a file with mistakes.
 */
export class ConfigDesk {
  readonly #options: ConfigDeskOptions
  #inForce: InForce | undefined
  /** The file as it was read last, and the text that was checked last. */
  #read: Loaded | undefined
  #checked: Loaded | undefined
  /** The file's text as it was read last, also with mistakes. */
  #lastText = ''

  constructor(options: ConfigDeskOptions) {
    this.#options = options
  }

  get inForce(): InForce {
    return (this.#inForce ??= this.#inForceOf(this.#options))
  }

  /** Reads the file as it is now. */
  read() {
    const { file, environment } = this.#options
    this.#lastText = textOf(file)
    return this.#candidateOf((this.#read = loadedFrom(this.#lastText, environment, file)))
  }

  /** The files of secrets that the file names, as it was read last. */
  secretFiles(): readonly string[] {
    return secretFilesIn(this.#lastText)
  }

  /** Reads a text that may become the file. It learns nothing of other files than those of the text in force. */
  check(text: string): Candidate {
    const named = new Set(secretFilesIn(this.inForce.text))
    const readSecret: ReadSecret = (file) => (named.has(file) ? secretIn(file) : { why: foreign })
    const { environment } = this.#options
    this.#checked = loadedFrom(text, environment, 'body', 'gateway', readSecret)
    return this.#candidateOf(this.#checked)
  }

  /** A candidate is in force. A desk that is new may have begun with it. */
  adopt(text: string): void {
    if (this.#known(text) || text !== this.inForce.text) this.#inForce = this.#candidateWith(text)
  }

  /** Why settings of a candidate can't come in force: a line each, with its place. */
  faultLines(text: string, faults: readonly Fault[]): readonly string[] {
    return this.#candidateWith(text).fault(faults).mistakes
  }

  /** A foreign message about a candidate, with `${NAME}` in place of values from the environment. */
  withNames(text: string, message: string): string {
    return this.#candidateWith(text).withNames(message)
  }

  /** The configuration in force as operators see it. */
  view() {
    const { shown, warnings } = this.inForce
    return { warnings, config: shown }
  }

  /** The same in JSON, beside what else an answer says. */
  writtenView(beside: object): Uint8Array {
    return new TextEncoder().encode(JSON.stringify({ ...beside, ...this.view() }))
  }

  /** Whether the file in force says `admin.save`: what it leaves out isn't shown. */
  saysSave(): boolean {
    return this.inForce.shown.admin.save !== undefined
  }

  /** The text in force with other settings, and the difference with or without lines around it. Throws an `WrongInput`. */
  edit(settings: Settings, isAround: boolean) {
    const { file, environment } = this.#options
    const { text: before } = this.inForce
    const text = editedText(before, settings)
    const { preview, ...found } = examined(text, environment, file)
    const diff = unifiedDiff(before, text, { name: file, isAround })
    return { text, diff, ...found, warnings: preview?.warnings ?? [] }
  }

  /** The variables of a text that another one hasn't. */
  lostVariables(before: string, after: string): readonly string[] {
    const variables = variablesIn(after)
    return [...variablesIn(before)].filter((name) => !variables.has(name))
  }

  /** The candidate with this text. Another desk may have read it, whose thread has died. */
  #candidateWith(text: string): Loaded {
    const known = this.#known(text)
    if (known) return known
    const { file, environment } = this.#options
    return loadedFrom(text, environment, file)
  }

  #known(text: string): Loaded | undefined {
    return [this.#read, this.#checked].find((each) => each?.text === text)
  }

  /** The configuration in force. The files that it names may have changed since, and aren't read. */
  #inForceOf({ text, config }: Pick<ConfigDeskOptions, 'text' | 'config'>): InForce {
    const { file, environment } = this.#options
    const document = new ConfigDocument(text, environment, 'set values', () => ({ why: '' }))
    const world = { files: undefined, adminToken: hasToken(environment), needsRoutes: true }
    return { ...previewOf(document, file, world), text, config }
  }

  #candidateOf(loaded: Loaded) {
    const { config, text, secrets, sharedHash, warnings, shown } = loaded
    const { inForce } = this
    return {
      config,
      text,
      /** The digests of its secrets in files. */
      secrets,
      /** The hash of what the gateways of a fleet have in common. */
      sharedHash,
      warnings,
      /** The settings that it changes, for the audit. */
      change: changeOf(this.#options.file, inForce.shown, shown),
    }
  }
}

/** The end of a question that has ended its thread: another thread would end of it too. */
export class DeskOverdue extends Refusal {}

/** Asks a desk, wherever it is. */
export type AskDesk = <Name extends DeskQuestion>(
  name: Name,
  ...values: Parameters<ConfigDesk[Name]>
) => Promise<ReturnType<ConfigDesk[Name]>>

/** The questions that can come from another thread. */
export type DeskQuestion = Exclude<keyof ConfigDesk, 'inForce'>

/** Asks a desk in this thread. */
export function askHere(desk: ConfigDesk): AskDesk {
  return async (name, ...values) => {
    const answer = desk[name] as (...values: unknown[]) => ReturnType<ConfigDesk[typeof name]>
    return Promise.resolve(answer.apply(desk, values))
  }
}

/** Checks a configuration without the values of the environment, which may hold others' tokens. */
export function examined(text: string, environment: Environment, name: string) {
  try {
    return { preview: previewConfig(text, environment, name), mistakes: [] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    /** `more` is the number of further mistakes, if there are any. */
    return { mistakes: error.mistakes, more: error.more || undefined }
  }
}

/** Why a text that somebody sends can't have a secret. */
const foreign =
  'the file in force doesn’t name it, and a text that is sent reads no others; write it into the file by hand'

function secretFilesIn(text: string): string[] {
  return [...variablesIn(text)].flatMap((name) => secretFileOf(name) ?? [])
}

/** The names of the variables and secrets that are in the values of a text; those in comments aren't. */
function variablesIn(text: string): ReadonlySet<string> {
  const names = new Set<string>()
  const document = yamlDocument(guardedText(text))
  visit(document, {
    Scalar: (key, { value }) => {
      if (key === 'key' || typeof value !== 'string') return
      for (const name of namesIn(baredText(value))) names.add(name)
    },
  })
  return names
}
