import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import { endSentence } from '../../shared/tls/ends.ts'
import type { CertificateEnd, Certificates } from '../front/certificates.ts'

/** The time from the start to the first look, and between two looks. */
const firstMs = 60_000
const everyMs = 3_600_000

export type CertificateEndsOptions = Readonly<{
  certificates: Pick<Certificates, 'ends'>
  /** Hears of each certificate that ends soon or has ended, at each look. */
  tell: (end: CertificateEnd) => void
  clock: Clock
  log: Log
}>

/** Looks for certificates in use that end soon, and logs each once a day. */
export class CertificateEnds {
  readonly #options: CertificateEndsOptions
  #timer: NodeJS.Timeout
  /** `undefined` before the first look: what it would log, the check of the configuration has logged at the start. */
  #logged: ReadonlySet<string> | undefined

  constructor(options: CertificateEndsOptions) {
    this.#options = options
    this.#timer = setTimeout(() => {
      this.look()
      this.#timer = setInterval(() => this.look(), everyMs).unref()
    }, firstMs).unref()
  }

  /** Looks now. */
  look(): void {
    const { certificates, tell, clock, log } = this.#options
    const present = new Set<string>()
    for (const end of certificates.ends) {
      const { use, endsAtMs } = end
      const sentence = endSentence(endsAtMs, clock())
      if (sentence === undefined) continue
      tell(end)
      const name = `${use} ${sentence}`
      present.add(name)
      if (this.#logged && !this.#logged.has(name)) log.warn({ use }, `the certificate ${sentence}`)
    }
    this.#logged = present
  }

  close(): void {
    clearTimeout(this.#timer)
  }
}
