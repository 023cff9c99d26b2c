import { FileWatch } from '../file-watch.ts'
import {
  certificateEndsAtMs,
  readTls,
  type TlsBounds,
  type TlsFiles,
  type TlsTexts,
} from './files.ts'

/** The interval between looks at the files. */
const lookEveryMs = 250

export type FollowedTlsOptions = Readonly<{
  /** The files, and what a server with them takes. */
  files: TlsFiles & TlsBounds
  /** What sentences call the files. */
  names?: Readonly<Record<keyof TlsFiles, string>>
  /** Hears of new texts in use. */
  changed: () => void
  /** Hears why new files aren't used. */
  refused: (error: unknown) => void
}>

/**
 * The content of TLS files. They are read again when they change; while those that are there don't fit together, the ones
 * before stay in use.
 */
export class FollowedTls {
  readonly #options: FollowedTlsOptions
  readonly #watch: FileWatch
  #texts: TlsTexts
  #servers = new Set<(texts: TlsTexts) => void>()

  /** Reads the files; throws a sentence if they can't be used. */
  constructor(options: FollowedTlsOptions) {
    const { files, names } = options
    this.#options = options
    this.#texts = readTls(files, { called: names })
    this.#watch = new FileWatch({
      files: () => [files.ca, files.cert, files.key].filter((file) => file !== undefined),
      everyMs: lookEveryMs,
      changed: () => this.readAgain(),
    })
    // They may have changed since they were read.
    void this.#watch.begin().then(() => this.readAgain())
  }

  /** The texts in use. They are other ones if, and only if, some file has another content. */
  get texts(): TlsTexts {
    return this.#texts
  }

  get bounds(): TlsBounds {
    return this.#options.files
  }

  /** The time until which the certificate is valid; `undefined` without one. */
  get endsAtMs(): number | undefined {
    return certificateEndsAtMs(this.#texts)
  }

  /** Tells the texts in use now, and each time that there are others. */
  use(take: (texts: TlsTexts) => void): void {
    this.#servers.add(take)
    take(this.#texts)
  }

  /** Reads the files now. */
  readAgain(): void {
    try {
      const { files, names, changed } = this.#options
      const texts = readTls(files, { called: names, present: this.#texts })
      if (texts === this.#texts) return
      for (const take of this.#servers) take(texts)
      this.#texts = texts
      changed()
    } catch (error) {
      this.#options.refused(error)
    }
  }

  /** Follows the files no longer. */
  close(): void {
    this.#watch.close()
  }
}
