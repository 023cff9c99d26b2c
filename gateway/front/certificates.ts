import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import { FollowedTls } from '../../shared/tls/followed.ts'
import type { TlsBounds, TlsFiles } from '../../shared/tls/files.ts'

export type CertificatesOptions = Readonly<{ clock: Clock; log: Log }>

/** A certificate in use, and its end. */
export type CertificateEnd = Readonly<{
  /** `listen`, `admin`, `decide` or `upstream/NAME`. */
  use: string
  endsAtMs: number
  /** Negative after its end. */
  leftMs: number
}>

/** The TLS files that this process goes by, each followed for what it is used for. */
export class Certificates {
  readonly #options: CertificatesOptions
  readonly #open = new Map<FollowedTls, string>()

  constructor(options: CertificatesOptions) {
    this.#options = options
  }

  /** Reads files and follows them; throws a sentence if they can't be used. Each call needs a `release`. */
  open(use: string, files: TlsFiles & TlsBounds): FollowedTls {
    const { log } = this.#options
    const at = use.replace(/^upstream\//, 'upstreams.') + '.tls'
    const tls = new FollowedTls({
      files,
      names: { cert: `${at}.cert`, key: `${at}.key`, ca: `${at}.ca` },
      changed: () => log.info({ use }, 'changed certificates are in use for new connections'),
      refused: (error) =>
        log.error(
          { use, err: error },
          'changed certificates can’t be used; those before stay in use',
        ),
    })
    this.#open.set(tls, use)
    return tls
  }

  release(tls: FollowedTls): void {
    tls.close()
    this.#open.delete(tls)
  }

  /** Reads all files now. */
  readAgain(): void {
    for (const tls of this.#open.keys()) tls.readAgain()
  }

  /** The ends of all certificates, each use once; those that are only trusted have none. */
  get ends(): readonly CertificateEnd[] {
    const nowMs = this.#options.clock()
    const ends = new Map<string, CertificateEnd>()
    for (const [{ endsAtMs }, use] of this.#open) {
      // While a configuration changes, the upstream that was opened last is the one in force.
      if (endsAtMs !== undefined) ends.set(use, { use, endsAtMs, leftMs: endsAtMs - nowMs })
    }
    return [...ends.values()]
  }

  /** Follows nothing any longer. */
  close(): void {
    for (const tls of [...this.#open.keys()]) this.release(tls)
  }
}
