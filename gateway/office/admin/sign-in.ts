import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import { byLimit, shortest } from '../../../shared/windows.ts'
import { noterFor } from '../../front/records/audit.ts'
import type { StrangerStore } from '../../front/limits/stranger-store.ts'
import type { AuditStore, Change } from '../../front/records/audit-store.ts'
import { invalid } from './refusals.ts'
import type { Begun, Sessions } from './session.ts'
import { placeOf, type AdminSecrets } from './token.ts'
import { Guesses } from './guesses.ts'

/** Wrong tokens of one address: 5 a minute. */
const guessLimits = byLimit((window) => (window === shortest ? 5 : Infinity))

/** The most lines about wrong tokens in an hour, from all addresses together: guessing can't push out the audit. */
const mostLines = 100
const hourMs = 3_600_000

export type SignInOptions = Readonly<{
  secrets: AdminSecrets
  sessions: Sessions
  audit: Pick<AuditStore, 'add'>
  log: Pick<Log, 'error'>
  clock: Clock
  /** The counts of the whole fleet, for wrong tokens. */
  strangers: StrangerStore | undefined
}>

/** Signs operators in by their tokens, and notes it in the audit, as it does wrong tokens. */
export class SignIns {
  readonly #options: SignInOptions
  readonly #guesses: Guesses
  readonly #lines: LineBudget

  constructor(options: SignInOptions) {
    this.#options = options
    const { clock, strangers: store } = options
    this.#guesses = new Guesses({ at: 'console', limits: () => guessLimits, clock, store })
    this.#lines = new LineBudget(options.clock)
  }

  /**
   * Begins a session. Throws a refusal for a wrong token; a valid one works also from an address with too many wrong
   * ones, because operators may share it with whoever guesses. Neither waits for the audit: operators sign in to see
   * why a store is out of reach.
   */
  begin(token: string, address: string): Begun {
    const { secrets, sessions } = this.#options
    const tokenIndex = placeOf(token, secrets.tokens)
    if (tokenIndex === undefined) {
      const refusal = this.#guesses.refuse(address, invalid)
      if (refusal.status === 401) this.#noteGuess(address)
      throw refusal
    }
    const begun = sessions.begin(tokenIndex)
    const { name, role } = begun.session
    this.#note(name, 'console.sign-in', { role, address })
    return begun
  }

  #noteGuess(address: string): void {
    const droppedLines = this.#lines.take()
    if (droppedLines === undefined) return
    this.#note('gateway', 'console.refused', {
      address,
      ...(droppedLines > 0 ? { droppedLines } : {}),
    })
  }

  #note(by: string, what: string, after: Change['after']): void {
    const { audit, clock, log } = this.#options
    const noted = noterFor(audit, by, clock)
    noted({ what, subject: 'console', before: null, after }).catch((err: unknown) => {
      log.error({ err }, 'a sign-in at the console is missing in the audit')
    })
  }
}

/** Bounds lines by the hour. */
class LineBudget {
  readonly #clock: Clock
  #hour = 0
  #said = 0
  #droppedLines = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Decides about a line: the number of lines left out before it, or `undefined` to leave it out as well. */
  take(): number | undefined {
    const hour = Math.floor(this.#clock() / hourMs)
    if (hour !== this.#hour) [this.#hour, this.#said] = [hour, 0]
    if (this.#said >= mostLines) {
      this.#droppedLines++
      return undefined
    }
    this.#said++
    const droppedLines = this.#droppedLines
    this.#droppedLines = 0
    return droppedLines
  }
}
