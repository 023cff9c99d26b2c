import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { Config } from './config.ts'
import { fixedSections } from './diff.ts'
import { ConfigError, readConfig, type Loaded } from './load.ts'
import type { Environment } from './variables.ts'

/** What is told of a change of the configuration, to whomever asks. */
export type ConfigState = Readonly<{
  file: string
  /** Which text is in force. */
  hash: string
  loadedAtMs: number
  /** What is wrong with the file as it is now; what is in force is the one before. */
  mistakes: string | undefined
}>

export type Reloaded = 'changed' | 'unchanged' | 'refused'

export type ReloadOptions = Readonly<{
  file: string
  environment: Environment
  /** What is in force at first. */
  loaded: Loaded
  /** Puts another configuration in force; if it can't, it rejects and nothing has changed. */
  change: (config: Config) => Promise<void>
  /** Told of each attempt, and of whose. */
  told: (result: Reloaded, state: ConfigState, attempt: Attempt) => void
}>

/** Who wanted a configuration to be read; what was in force before, as it is shown; and what is in force now. */
export type Attempt = Readonly<{ by: string; before: unknown; loaded: Loaded }>

/** Who reads it again when nobody asks. */
const watcher = 'the file'

/** How often the file is looked at. It is read when it has stayed the same from one look to the next. */
const lookEveryMs = 100

/**
 * Follows a configuration file: what is saved there and sound goes into force, what is not changes
 * nothing and is told. It looks at the file by its name again and again, which finds whatever editors and
 * orchestrators do: write in place, put another file there, turn a link.
 */
export class Reloader {
  readonly #options: ReloadOptions
  #loaded: Loaded
  #state: ConfigState
  #seen = ''
  #isSettling = false
  #timer: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: ReloadOptions) {
    this.#options = options
    this.#loaded = options.loaded
    const { file, loaded } = options
    const hash = hashOf(loaded.text)
    this.#state = { file, hash, loadedAtMs: Date.now(), mistakes: undefined }
  }

  get state(): ConfigState {
    return this.#state
  }

  /** What is in force. */
  get loaded(): Loaded {
    return this.#loaded
  }

  /** What the file's `${NAME}` stand for. */
  get environment(): Environment {
    return this.#options.environment
  }

  /** Begins to look at the file. */
  async watch(): Promise<void> {
    this.#seen = await look(this.#options.file)
    const next = (): void => {
      this.#timer = setTimeout(() => void this.#look().finally(next), lookEveryMs)
      this.#timer.unref()
    }
    next()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#look = () => Promise.resolve()
  }

  /** Reads the file now, one at a time, and puts it in force if it is sound. */
  reload(by: string): Promise<Reloaded> {
    const attempt = this.#last.then(() => this.#attempt(by))
    this.#last = attempt.catch(() => undefined)
    return attempt
  }

  #look = async (): Promise<void> => {
    const now = await look(this.#options.file)
    const isMoving = now !== this.#seen
    this.#seen = now
    if (isMoving) this.#isSettling = true
    else if (this.#isSettling) {
      this.#isSettling = false
      await this.reload(watcher)
    }
  }

  async #attempt(by: string): Promise<Reloaded> {
    const { file, environment, change } = this.#options
    const { config: before, shown } = this.#loaded
    let loaded: Loaded | undefined
    const tell = (result: Reloaded, state: Partial<ConfigState>): Reloaded => {
      this.#state = { ...this.#state, ...state }
      this.#options.told(result, this.#state, { by, before: shown, loaded: this.#loaded })
      return result
    }
    try {
      loaded = readConfig(file, environment)
      // A file that is as it was before somebody made a mistake is nothing new, but sound again.
      if (isSame(loaded, this.#loaded)) return tell('unchanged', { mistakes: undefined })
      const { config, text } = loaded
      const changed = fixedSections.filter(
        (name) => JSON.stringify(before[name]) !== JSON.stringify(config[name]),
      )
      if (changed.length > 0) {
        throw loaded.fault(
          changed.map((name) => [[name], 'can’t be changed while the gateway runs: restart it']),
        )
      }
      await change(config)
      this.#loaded = loaded
      const state = { hash: hashOf(text), loadedAtMs: Date.now(), mistakes: undefined }
      return tell('changed', state)
    } catch (error) {
      return tell('refused', { mistakes: mistakesOf(error, file, loaded) })
    }
  }
}

/** Whether a file says what another said, and the certificates that it names are the same. */
function isSame(one: Loaded, other: Loaded): boolean {
  const [certificates, others] = [one, other].map(({ config }) =>
    JSON.stringify([...config.upstreams.values()].map(({ ca }) => ca ?? null)),
  )
  return one.text === other.text && certificates === others
}

function mistakesOf(error: unknown, file: string, loaded: Loaded | undefined): string {
  const told = error instanceof Error ? error.message : String(error)
  if (error instanceof ConfigError) return told
  // A sentence of somebody else's may quote what the environment says.
  return `${file}: ${loaded?.withNames(told) ?? told}`
}

/** What a file looks like from outside; another text gives another look. */
async function look(file: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true })
    return [ino, size, mtimeNs, ctimeNs].join()
  } catch {
    return 'nothing'
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
