import type { Config } from '../../front/config/config.ts'
import type { FileState } from '../../front/fleet/own-member.ts'
import { breathe } from '../../../shared/breathe.ts'
import { FileWatch } from '../../../shared/file-watch.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { withoutFree } from './free-settings.ts'
import { fixedSections } from './diff.ts'
import { ConfigError, refusedBy, type RefusedFile } from './config-error.ts'
import { DeskOverdue, type AskDesk, type Candidate } from './desk.ts'
import { frozen } from '../../../shared/frozen.ts'
import type { Fault } from './preview.ts'

/** The state of the configuration, for the admin API and the metrics. */
export type ConfigState = FileState &
  Readonly<{
    file: string
    /** The number of further mistakes, if there are any. */
    more?: number | undefined
  }>

export type Reloaded = 'changed' | 'unchanged' | 'refused'

/** The configuration in force, as the reloader knows it. */
type InForce = Pick<Candidate, 'config' | 'text' | 'secrets' | 'sharedHash'>

export type ReloadOptions = Readonly<{
  file: string
  /** Reads and checks the file. */
  desk: AskDesk
  /** The configuration in force at first. */
  loaded: InForce
  /** The secrets of the process, which are read again with the file. */
  secrets: Readonly<{ files: readonly string[]; renew: () => (() => void) | undefined }>
  /** Puts another configuration in force. If it rejects, nothing has changed. */
  change: (config: Config) => Promise<void>
  /** Settings that something under way keeps from being changed as a configuration would. */
  hindrances: (config: Config) => readonly Fault[]
  onAttempt: OnAttempt
}>

/** Called after each attempt to reload. */
export type OnAttempt = (
  result: Reloaded,
  state: Pick<ConfigState, 'file' | 'hash' | 'mistakes' | 'more'>,
  attempt: Attempt,
) => void

/** One attempt to reload: its author, and the configuration that was read, if it has no mistakes. */
export type Attempt = Readonly<{
  by: string
  candidate: Pick<Candidate, 'warnings' | 'change'> | undefined
}>

/** The author of reloads that follow the file by themselves. */
const watcher = 'the file'

/** The interval between looks at the file. */
const lookEveryMs = 100

/**
 * Follows a configuration file. A saved file without mistakes goes into force; one with mistakes changes nothing and
 * is reported.
 */
export class Reloader {
  readonly #options: ReloadOptions
  #inForce: InForce
  /** The files of secrets that a refused file names. */
  #wanted: readonly string[] = []
  #state: ConfigState
  readonly #watch: FileWatch
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: ReloadOptions) {
    this.#options = options
    const { file, loaded } = options
    this.#inForce = loaded
    this.#state = { file, ...inForceSince(loaded, Date.now()), mistakes: undefined }
    this.#watch = new FileWatch({
      files: () => [file, ...this.#secretFiles],
      everyMs: lookEveryMs,
      // Without an answer of the desk, it is told again.
      changed: () => this.reload(watcher),
    })
  }

  get state(): ConfigState {
    return this.#state
  }

  /** The text in force. */
  get text(): string {
    return this.#inForce.text
  }

  /** Asks the desk that reads the file. */
  get desk(): AskDesk {
    return this.#options.desk
  }

  /** The files of secrets that are in force, or would be. */
  get #secretFiles(): ReadonlySet<string> {
    const { secrets } = this.#options
    return new Set([...secrets.files, ...Object.keys(this.#inForce.secrets), ...this.#wanted])
  }

  /** Begins to follow the file, and those of secrets. */
  watch(): Promise<void> {
    return this.#watch.begin()
  }

  /** Follows the file no longer. Whoever asks for a reload still gets one. */
  close(): void {
    this.#watch.close()
  }

  /**
   * Reads the file now, after `write` has written over it, and puts it in force if it has no mistakes. Reloads run one at a
   * time. What `write` throws, this does, and nothing has changed. Rejects with a refusal if the desk has no answer.
   */
  reload(by: string, write?: () => Promise<void>): Promise<Reloaded> {
    const attempt = this.#last.then(async () => {
      await write?.()
      return this.#attempt(by)
    })
    this.#last = attempt.catch(() => undefined)
    return attempt
  }

  /** Throws a `ConfigError` if a candidate changes what needs a restart. */
  async requireChangeable({ config, text }: Candidate): Promise<void> {
    const { desk, hindrances } = this.#options
    const before = withoutFree(this.#inForce.config)
    const after = withoutFree(config)
    const changed = fixedSections.filter(
      (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
    )
    const faults: Fault[] = changed.map((name) => [
      [name],
      'can’t be changed while the gateway runs: restart it',
    ])
    faults.push(...hindrances(config))
    if (faults.length === 0) return
    throw ConfigError.of(await desk('faultLines', text, faults))
  }

  async #attempt(by: string): Promise<Reloaded> {
    const { desk, change, secrets } = this.#options
    let undo: (() => void) | undefined
    let candidate: Candidate | undefined
    const report = (result: Reloaded, state: Partial<ConfigState>): Reloaded => {
      this.#state = { ...this.#state, mistakes: undefined, more: undefined, ...state }
      this.#options.onAttempt(result, this.#state, { by, candidate })
      return result
    }
    try {
      candidate = await desk('read')
      this.#wanted = []
      undo = secrets.renew()
      // Somebody may have undone a mistake: nothing changes, but the mistakes are gone.
      if (!undo && this.#isInForce(candidate)) return report('unchanged', {})
      await this.requireChangeable(candidate)
      const config = frozen(candidate.config)
      await breathe()
      await change(config)
      this.#inForce = { ...candidate, config }
      // A desk that is gone has a successor, which begins with these.
      await desk('adopt', candidate.text).catch(() => undefined)
      return report('changed', inForceSince(candidate, Date.now()))
    } catch (error) {
      undo?.()
      // The desk has no answer: nothing is known of the file, unless it is the reason.
      if (error instanceof Refusal && !(error instanceof DeskOverdue)) throw error
      return report('refused', await this.#refusalOf(error, candidate))
    }
  }

  /** Whether a candidate is the one in force: the same text, secrets, key sets and OpenAPI document. */
  #isInForce(candidate: Candidate): boolean {
    const [one, other] = [candidate, this.#inForce].map(({ secrets, config: { jwt } }) =>
      JSON.stringify([secrets, jwt.map(({ keys }) => keys)]),
    )
    const { text, config } = this.#inForce
    const isDocumentSame = candidate.config.portal?.document === config.portal?.document
    return candidate.text === text && one === other && isDocumentSame
  }

  async #refusalOf(error: unknown, candidate: Candidate | undefined): Promise<RefusedFile> {
    const { file, desk } = this.#options
    const refused = refusedBy(error)
    // The file may wait for one of them.
    if (!candidate) this.#wanted = await desk('secretFiles').catch(() => [])
    if (error instanceof ConfigError || !candidate) return refused
    // A foreign error may quote values from the environment.
    return { mistakes: `${file}: ${await desk('withNames', candidate.text, refused.mistakes)}` }
  }
}

function inForceSince(
  { config, sharedHash }: Pick<Candidate, 'config' | 'sharedHash'>,
  loadedAtMs: number,
) {
  return { hash: config.hash, sharedHash, loadedAtMs }
}
