import type { Config } from '../../front/config/config.ts'
import { withoutFree } from '../config/free-settings.ts'
import { changeOf } from '../config/diff.ts'
import type { ConfigFile } from '../config/file.ts'
import { configIn, type Loaded } from '../config/load.ts'
import type { Fault } from '../config/preview.ts'
import { refusedBy } from '../config/config-error.ts'
import type { ConfigState, OnAttempt } from '../config/reload.ts'
import type { ReloadedConfig } from './tollgate.ts'

/** The name of a configuration that is in no file. */
const unnamed = 'config'

export type AppConfigOptions = Readonly<{
  config: Config
  /** The configuration in force at first as operators see it, if it was read here. */
  shown: Loaded['shown'] | undefined
  /** Puts another configuration in force. If it rejects, nothing has changed. */
  change: (config: Config) => Promise<void>
  /** Settings that something under way keeps from being changed so. */
  hindrances: (before: Config, after: Config) => readonly Fault[]
  onAttempt: OnAttempt
}>

/** The parts of a configuration that an app can't change, by the names of their sections. */
const fixed: Readonly<Record<string, (config: Config) => unknown>> = {
  name: ({ name }) => name,
  store: (config) => withoutFree(config).store,
  keys: ({ keys }) => keys,
  routes: ({ routes }) => routes,
  quota: ({ quotaPath }) => quotaPath,
  usage: ({ usagePath }) => usagePath,
  tickets: ({ tickets }) => tickets,
  portal: ({ portal }) => portal?.path,
}

/** The configuration in force in an app, which the app changes by itself. */
export class AppConfig {
  readonly #options: AppConfigOptions
  #config: Config
  #shown: unknown
  #refused: Pick<ConfigState, 'mistakes' | 'more'> = { mistakes: undefined }
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: AppConfigOptions) {
    this.#options = options
    this.#config = options.config
    this.#shown = options.shown
  }

  get config(): Config {
    return this.#config
  }

  get state(): Pick<ConfigState, 'hash' | 'mistakes' | 'more'> {
    return { hash: this.#config.hash, ...this.#refused }
  }

  /** Puts another configuration in force. Reloads run one at a time. Throws all mistakes, and nothing has changed. */
  reload(source: string | ConfigFile, by: string): Promise<ReloadedConfig> {
    const attempt = this.#last.then(() => this.#attempt(source, by))
    this.#last = attempt.catch(() => undefined)
    return attempt
  }

  async #attempt(source: string | ConfigFile, by: string): Promise<ReloadedConfig> {
    const { change, onAttempt } = this.#options
    const file = typeof source === 'string' ? source : unnamed
    try {
      const loaded = configIn(source)
      this.#requireChangeable(loaded)
      const { config, shown, warnings } = loaded
      const isOther = config.hash !== this.#config.hash
      await change(config)
      const candidate = {
        warnings,
        change: this.#shown === undefined ? undefined : changeOf(file, this.#shown, shown),
      }
      this.#config = config
      this.#shown = shown
      this.#refused = { mistakes: undefined }
      onAttempt(isOther ? 'changed' : 'unchanged', { ...this.state, file }, { by, candidate })
      return { hash: config.hash, warnings }
    } catch (error) {
      this.#refused = refusedBy(error)
      onAttempt('refused', { ...this.state, file }, { by, candidate: undefined })
      throw error
    }
  }

  #requireChangeable({ config, fault }: Loaded): void {
    const changed = Object.entries(fixed).filter(
      ([, part]) => JSON.stringify(part(this.#config)) !== JSON.stringify(part(config)),
    )
    const faults: Fault[] = changed.map(([name]) => [
      [name],
      'can’t be changed while the app runs: restart it',
    ])
    faults.push(...this.#options.hindrances(this.#config, config))
    if (faults.length > 0) throw fault(faults)
  }
}
