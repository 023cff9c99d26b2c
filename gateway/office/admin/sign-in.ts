import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import type { Refusal } from '../../../shared/refusal.ts'
import { byLimit, shortest } from '../../../shared/windows.ts'
import { plainAddress } from '../../front/http/address.ts'
import type { Limits } from '../../front/limits/limits.ts'
import type { StrangerStore } from '../../front/limits/stranger-store.ts'
import { Strangers } from '../../front/limits/strangers.ts'
import { noterFor } from '../../front/records/audit.ts'
import type { AuditStore, Change } from '../../front/records/audit-store.ts'
import { invalid } from './refusals.ts'
import type { Begun, Sessions } from './session.ts'
import { placeOf, type AdminSecrets } from './token.ts'

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
  readonly #refuse: RefuseGuess
  readonly #takeLine: () => number | undefined

  constructor(options: SignInOptions) {
    this.#options = options
    const { clock, strangers: store } = options
    this.#refuse = guesses({ at: 'console', limits: () => guessLimits, clock, store })
    this.#takeLine = lineBudget(clock)
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
      const refusal = this.#refuse(address, invalid)
      if (refusal.status === 401) this.#noteGuess(address)
      throw refusal
    }
    const begun = sessions.begin(tokenIndex)
    const { name, role } = begun.session
    this.#note(name, 'console.sign-in', { role, address })
    return begun
  }

  #noteGuess(address: string): void {
    const droppedLines = this.#takeLine()
    if (droppedLines === undefined) return
    const dropped = droppedLines > 0 ? { droppedLines } : {}
    this.#note('gateway', 'console.refused', { address, ...dropped })
  }

  #note(by: string, what: string, after: Change['after']): void {
    const { audit, clock, log } = this.#options
    const noted = noterFor(audit, by, clock)
    noted({ what, subject: 'console', before: null, after }).catch((err: unknown) => {
      log.error({ err }, 'a sign-in at the console is missing in the audit')
    })
  }
}

/** Bounds lines by the hour: gives the number of lines left out before one, or `undefined` to leave it out as well. */
function lineBudget(clock: Clock): () => number | undefined {
  let [hour, written, droppedLines] = [0, 0, 0]
  return () => {
    const present = Math.floor(clock() / hourMs)
    if (present !== hour) [hour, written] = [present, 0]
    if (written >= mostLines) {
      droppedLines++
      return undefined
    }
    written++
    const dropped = droppedLines
    droppedLines = 0
    return dropped
  }
}

type GuessesOptions = Readonly<{
  /** The place where something is guessed. Each place has counts of its own. */
  at: 'admin' | 'console'
  /** The limits of an address in the configuration in force. */
  limits: () => Limits
  clock: Clock
  /** The counts of the whole fleet; without them, this gateway counts alone. */
  store: StrangerStore | undefined
}>

/** The refusal of a request without a valid token: `why`, or 429 over the limit of its address. */
export type RefuseGuess = (address: string | undefined, why: () => Refusal) => Refusal

/** Counts failed attempts by address, like requests of callers without a key. */
export function guesses({ at, limits, clock, store }: GuessesOptions): RefuseGuess {
  const strangers = new Strangers({ limits: limits(), clock, store, prefix: `${at} ` })
  return (address = '', why) => {
    strangers.limits = limits()
    return strangers.refuse(plainAddress(address), why).refusal
  }
}
