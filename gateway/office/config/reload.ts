import { stat } from 'node:fs/promises'
import type { Config } from '../../front/config/config.ts'
import { fixedSections } from './diff.ts'
import { ConfigError } from './config-error.ts'
import { readConfigInPieces, type Loaded } from './load.ts'
import type { Fault } from './preview.ts'
import type { Environment } from './variables.ts'

/** The state of the configuration, for the admin API and the metrics. */
export type ConfigState = Readonly<{
  file: string
  /** The beginning of the SHA-256 of the text in force. */
  hash: string
  /** The hash of what the gateways of a fleet have in common. */
  sharedHash: string
  loadedAtMs: number
  /** The mistakes of the file as it is now; the configuration before stays in force. */
  mistakes: string | undefined
}>

export type Reloaded = 'changed' | 'unchanged' | 'refused'

export type ReloadOptions = Readonly<{
  file: string
  environment: Environment
  /** The configuration in force at first. */
  loaded: Loaded
  /** Puts another configuration in force. If it rejects, nothing has changed. */
  change: (config: Config) => Promise<void>
  /** Settings that something under way keeps from being changed as a configuration would. */
  hindrances: (config: Config) => readonly Fault[]
  /** Called after each attempt to reload. */
  onAttempt: (result: Reloaded, state: ConfigState, attempt: Attempt) => void
}>

/** One attempt to reload: its author, the shown form of the configuration before, and the configuration after. */
export type Attempt = Readonly<{ by: string; before: unknown; loaded: Loaded }>

/** The author of reloads that follow the file by themselves. */
const watcher = 'the file'

/** The interval between looks at the file. A changed file is read once it is the same at two looks in a row. */
const lookEveryMs = 100

/**
 * Follows a configuration file. A saved file without mistakes goes into force; one with mistakes changes nothing and
 * is reported. It looks at the file by name in an interval, which works however editors and orchestrators save: in
 * place, by renaming another file over it, or by turning a link.
 */
export class Reloader {
  readonly #options: ReloadOptions
  #loaded: Loaded
  #state: ConfigState
  /** The file's stamp at the last look. */
  #stamp = ''
  #isSettling = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: ReloadOptions) {
    this.#options = options
    this.#loaded = options.loaded
    const { file, loaded } = options
    this.#state = { file, ...inForceSince(loaded, Date.now()) }
  }

  get state(): ConfigState {
    return this.#state
  }

  /** The configuration in force. */
  get loaded(): Loaded {
    return this.#loaded
  }

  /** The values of the file's `${NAME}`. */
  get environment(): Environment {
    return this.#options.environment
  }

  /** Begins to follow the file. */
  async watch(): Promise<void> {
    this.#stamp = await stampOf(this.#options.file)
    const next = (): void => {
      if (this.#isClosed) return
      this.#timer = setTimeout(() => void this.#look().finally(next), lookEveryMs)
      this.#timer.unref()
    }
    next()
  }

  /** Follows the file no longer. Whoever asks for a reload still gets one. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  /** Reads the file now and puts it in force if it has no mistakes. Reloads run one at a time. */
  reload(by: string): Promise<Reloaded> {
    const attempt = this.#last.then(() => this.#attempt(by))
    this.#last = attempt.catch(() => undefined)
    return attempt
  }

  /**
   * Puts a text in force that `write` writes over the file; what `write` throws, this does, and nothing has changed. No
   * other reload comes between.
   */
  save(by: string, write: () => Promise<void>): Promise<Reloaded> {
    const attempt = this.#last.then(async () => {
      await write()
      return this.#attempt(by)
    })
    this.#last = attempt.catch(() => undefined)
    return attempt
  }

  /** Throws a `ConfigError` if a configuration changes what needs a restart. */
  requireChangeable({ config, fault }: Loaded): void {
    const before = this.#loaded.config
    const changed = fixedSections.filter(
      (name) => JSON.stringify(before[name]) !== JSON.stringify(config[name]),
    )
    const faults: Fault[] = changed.map((name) => [
      [name],
      'can’t be changed while the gateway runs: restart it',
    ])
    faults.push(...this.#options.hindrances(config))
    if (faults.length > 0) throw fault(faults)
  }

  async #look(): Promise<void> {
    const stamp = await stampOf(this.#options.file)
    const isMoving = stamp !== this.#stamp
    this.#stamp = stamp
    if (isMoving) this.#isSettling = true
    else if (this.#isSettling && !this.#isClosed) {
      this.#isSettling = false
      await this.reload(watcher)
    }
  }

  async #attempt(by: string): Promise<Reloaded> {
    const { file, environment, change } = this.#options
    const { shown } = this.#loaded
    let loaded: Loaded | undefined
    const report = (result: Reloaded, state: Partial<ConfigState>): Reloaded => {
      this.#state = { ...this.#state, ...state }
      this.#options.onAttempt(result, this.#state, { by, before: shown, loaded: this.#loaded })
      return result
    }
    try {
      loaded = await readConfigInPieces(file, environment)
      // Somebody may have undone a mistake: nothing changes, but the mistakes are gone.
      if (isSame(loaded, this.#loaded)) return report('unchanged', { mistakes: undefined })
      const { config } = loaded
      this.requireChangeable(loaded)
      await change(config)
      this.#loaded = loaded
      return report('changed', inForceSince(loaded, Date.now()))
    } catch (error) {
      return report('refused', { mistakes: mistakesOf(error, file, loaded) })
    }
  }
}

function inForceSince({ config, sharedHash }: Loaded, loadedAtMs: number) {
  return { hash: config.hash, sharedHash, loadedAtMs, mistakes: undefined }
}

/** Whether two loaded files have the same text, the same certificates and the same OpenAPI document. */
function isSame(one: Loaded, other: Loaded): boolean {
  const [certificates, others] = [one, other].map(({ config }) =>
    JSON.stringify([...config.upstreams.values()].map(({ ca }) => ca ?? null)),
  )
  const isDocumentSame = one.config.portal?.document === other.config.portal?.document
  return one.text === other.text && certificates === others && isDocumentSame
}

function mistakesOf(error: unknown, file: string, loaded: Loaded | undefined): string {
  const sentence = error instanceof Error ? error.message : String(error)
  if (error instanceof ConfigError) return sentence
  // A foreign error may quote values from the environment.
  return `${file}: ${loaded?.withNames(sentence) ?? sentence}`
}

/** The file's inode, size and times: another text has another stamp. */
async function stampOf(file: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true })
    return [ino, size, mtimeNs, ctimeNs].join()
  } catch {
    return 'nothing'
  }
}
