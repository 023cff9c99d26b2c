import { stat } from 'node:fs/promises'

export type FileWatchOptions = Readonly<{
  /** The files, as they are at each look. Those that come newly are told as changed. */
  files: () => readonly string[]
  /** The interval between looks. Changed files are told once they are the same at two looks in a row. */
  everyMs: number
  /** Hears of changed files. If it rejects, they are told again at the next look. */
  changed: () => Promise<unknown> | void
}>

/**
 * Follows files. It looks at them by name in an interval, which works however editors and orchestrators save: in place, by
 * renaming another file over one, or by turning a link.
 */
export class FileWatch {
  readonly #options: FileWatchOptions
  /** The stamps of the files at the last look. */
  #stamp = ''
  #isSettling = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: FileWatchOptions) {
    this.#options = options
  }

  /** Begins to follow the files. */
  async begin(): Promise<void> {
    this.#stamp = await this.#look()
    this.#lookSoon()
  }

  /** Follows the files no longer. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #lookSoon(): void {
    if (this.#isClosed) return
    const next = (): void => this.#lookSoon()
    this.#timer = setTimeout(() => void this.#tell().finally(next), this.#options.everyMs).unref()
  }

  async #tell(): Promise<void> {
    const stamp = await this.#look()
    const isMoving = stamp !== this.#stamp
    this.#stamp = stamp
    if (isMoving) this.#isSettling = true
    else if (this.#isSettling && !this.#isClosed) {
      this.#isSettling = false
      await Promise.resolve(this.#options.changed()).catch(() => (this.#isSettling = true))
    }
  }

  async #look(): Promise<string> {
    return (await Promise.all(this.#options.files().map(stampOf))).join(' ')
  }
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
