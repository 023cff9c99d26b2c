import type { Clock } from '../../../shared/clock.ts'
import { checkerOf, Type } from '../../../shared/schema.ts'
import { byLimit, type LimitName } from '../../../shared/windows.ts'
import { longestOutside } from '../http/token-length.ts'
import type { Plan } from '../limits/plan.ts'
import { Caller } from './caller.ts'
import { LookUps } from './look-ups.ts'
import type { Denial, OutsideCallers, OutsideFinder } from './outside-callers.ts'
import { appIssuer, appKind, isSubject, nameOf, type Outsider, type Voucher } from './outsider.ts'
import { requireSoundOutsider } from './settings.ts'

/** A caller, as an app knows it. */
export interface OwnCaller {
  /** Who it is, whatever token it comes with: 1 to 255 characters. */
  readonly id: string
  /** A plan of the configuration. */
  readonly plan: string
  /** Callers of one account share one quota. */
  readonly account?: string | undefined
  /** Its name for operators, when it first comes: its id by default. */
  readonly name?: string | undefined
  /** Limits in place of the plan's; those that an operator sets go before. */
  readonly limits?: { readonly [Name in LimitName]?: number | 'unlimited' | undefined } | undefined
  /** The scopes that it has: all by default. */
  readonly scopes?: readonly string[] | undefined
  /** Anything that handlers want to know of it, as `request.tollgate.caller.data`. It is never stored, logged or sent. */
  readonly data?: unknown
}

type Found = OwnCaller | null | undefined

/** An app's own way to find the caller of a token; `undefined` or `null` if nobody has it. */
export type FindCaller = (token: string) => Found | Promise<Found>

export type OwnCallersOptions = Readonly<{
  /** The app's function. */
  findCaller: FindCaller
  /** How long its answer counts. */
  cacheForMs: number
  callers: OutsideCallers
  /** The plans of the configuration in force. */
  plans: ReadonlyMap<string, Plan>
  clock: Clock
  /** Called when the function fails, or gives a caller that can't be; with its id, if it has one. */
  failed: (error: unknown, id: string | undefined) => void
}>

/** Why there is no caller just now: the function fails. */
const unanswered: Denial = { reason: 'app', isTemporary: true }

/** Finds the callers of tokens that an app knows itself, by its own function. */
export class OwnCallers implements OutsideFinder {
  readonly longest = longestOutside
  plans: ReadonlyMap<string, Plan>
  readonly #options: OwnCallersOptions
  readonly #lookUps = new LookUps()

  constructor(options: OwnCallersOptions) {
    this.#options = options
    this.plans = options.plans
  }

  /** An address that guesses can have nothing asked, but for tokens that were let in before. */
  takes(token: string, isOver: boolean): boolean {
    return !isOver || this.#wordOn(token) !== undefined
  }

  find(token: string): Promise<Caller | Denial> {
    return this.#lookUps.of(token, () => this.#find(token))
  }

  async #find(token: string): Promise<Caller | Denial> {
    const { findCaller, callers, failed } = this.#options
    const word = this.#wordOn(token) ?? new Word()
    let id: string | undefined
    try {
      const answer: unknown = await findCaller(token)
      if (answer === undefined || answer === null) {
        word.isTrusted = false
        return { reason: 'unknown_token', isTemporary: false }
      }
      const own = ownCallerFrom(answer)
      id = own.id
      const outcome = await callers.find(token, this.#outsiderOf(own, word), Infinity)
      if (outcome instanceof Caller) return outcome
      if (outcome === 'unavailable') return { reason: 'store', isTemporary: true }
      throw new Error('the id of its record is another caller’s')
    } catch (error) {
      failed(error, id)
      return unanswered
    }
  }

  #wordOn(token: string): Word | undefined {
    const by = this.#options.callers.outsiderOf(token)?.by
    return by instanceof Word ? by : undefined
  }

  #outsiderOf(own: OwnCaller, by: Word): Outsider {
    const { id, plan, account, name = nameOf(id), limits, scopes, data } = own
    requireSoundOutsider({ name, account, plan, limits }, this.plans)
    const { clock, cacheForMs } = this.#options
    return {
      ...{ kind: appKind, issuer: appIssuer, subject: id, name, plan, account, limits, by },
      ...{ scopes, data },
      ...{ untilMs: Infinity, askAgainAtMs: clock() + cacheForMs },
    }
  }
}

/** The word of an app on a token. It counts, for what has begun with the token, until the app doesn't know it any more. */
class Word implements Voucher {
  isTrusted = true
}

const text = Type.Optional(Type.String())
const limit = Type.Optional(Type.Union([Type.Number(), Type.Literal('unlimited')]))
const isOwnCaller = checkerOf(
  Type.Object({
    id: Type.String(),
    plan: Type.String(),
    account: text,
    name: text,
    limits: Type.Optional(
      Type.Object({ ...byLimit(() => limit), atOnce: limit }, { additionalProperties: false }),
    ),
    scopes: Type.Optional(Type.Array(Type.String())),
  }),
)

/** The caller that an app's function has given, without members that nobody knows. Throws a sentence if it is no caller. */
function ownCallerFrom(answer: unknown): OwnCaller {
  const own = typeof answer === 'object' && answer !== null ? membersOf(answer) : undefined
  if (isOwnCaller(own) && isSubject(own.id)) return { ...own, data: (answer as OwnCaller).data }
  throw new TypeError(
    'it must give undefined or null, or { id, plan } with account, name, limits and scopes where there are any: all of them are texts, limits an object and ' +
      `scopes a list of texts; an id has 1 to 255 characters. It gave ${own ? typesOf(own) : typeof answer}`,
  )
}

function membersOf(answer: Partial<Record<keyof OwnCaller, unknown>>): Record<string, unknown> {
  const { id, plan, account, name, limits, scopes } = answer
  // As JSON, a member without a value is absent.
  return JSON.parse(JSON.stringify({ id, plan, account, name, limits, scopes })) as Record<
    string,
    unknown
  >
}

/** The kinds of an object's members: their values may be secret. */
function typesOf(members: Readonly<Record<string, unknown>>): string {
  const types = Object.entries(members).map(([name, value]) => {
    const isObject = typeof value === 'object' && value !== null
    return `${name}: ${isObject ? `{ ${Object.keys(value).join(', ')} }` : typeof value}`
  })
  return `{ ${types.join(', ')} }`
}
