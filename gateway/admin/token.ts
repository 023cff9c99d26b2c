import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../shared/clock.ts'
import { Refusal } from '../../shared/refusal.ts'
import { plainAddress } from '../http/address.ts'
import { nearest } from '../../shared/near.ts'
import { isLine } from '../keys/settings.ts'
import type { Limits } from '../limits/limits.ts'
import type { StrangerStore } from '../limits/stranger-store.ts'
import { Strangers } from '../limits/strangers.ts'
import { allows, roles, type Role } from '../operations/role.ts'
import type { entryFinder } from './entry.ts'
import { closed, invalid, missing } from './refusals.ts'

/** An operator: its name for the audit, its role, and the time at which both end, if they do. */
export type Operator = Readonly<{ name: string; role: Role; endsAtMs?: number }>

/** The tokens of operators. */
export type AdminTokens = readonly Readonly<Operator & { token: string }>[]

declare module 'fastify' {
  interface FastifyRequest {
    /** The holder of the request's admin token, or of its session. */
    admin: Operator | null
  }
}

/** The least length of a token: 16 random characters can't be guessed. */
const shortestToken = 16

/** The least number of different characters: of 32 random hexadecimal digits, one in 28 million has fewer. */
const leastDifferent = 8

/** A fault of an ADMIN_TOKEN. Its message is for operators who start a gateway; `fault` is without their advice. */
export class AdminTokenFault extends Error {
  readonly fault: string

  constructor(fault: string) {
    super(`${fault}. Write TOKEN, or alice:TOKEN,bob/read:TOKEN; openssl rand -hex 32 makes one`)
    this.fault = fault
  }
}

/**
 * The tokens of an ADMIN_TOKEN: one, or several between commas, each with a name before a colon, and perhaps a role
 * behind the name: `eve/read:TOKEN`. Throws an `AdminTokenFault` if one of them is too short or malformed; its message never quotes
 * a token.
 */
export function adminTokensFrom(setting = ''): AdminTokens {
  if (setting.trim() === '') return []
  const parts = setting.split(',').map((part) => part.trim())
  return parts.map((part, i) => {
    const [first = '', second, ...more] = part.split(':')
    const named =
      second === undefined
        ? { name: 'admin', role: 'all' as const, token: first }
        : { ...operatorFrom(first), token: second }
    const why = more.length > 0 ? 'has more than one colon' : faultOf(named, first)
    if (why === undefined) return named
    const which = parts.length > 1 ? `part ${i + 1} of ADMIN_TOKEN` : 'ADMIN_TOKEN'
    throw new AdminTokenFault(`${which} ${why}`)
  })
}

/** An operator from what stands before the colon. A name may have slashes: only a role behind the last one counts. */
function operatorFrom(text: string): Operator {
  const slash = text.lastIndexOf('/')
  const role = roles.find((each) => each === text.slice(slash + 1))
  return slash < 0 || !role ? { name: text, role: 'all' } : { name: text.slice(0, slash), role }
}

/** A sentence for each operator of an ADMIN_TOKEN whose name has a slash, but no role behind it. */
export function roleWarnings(setting = ''): string[] {
  return setting.split(',').flatMap((part) => {
    const [, name = '', last = ''] = /^\s*([^:]*\/([^:/]*)):/.exec(part) ?? []
    if (name === '' || roles.some((role) => role === last)) return []
    return [
      `ADMIN_TOKEN: "${last}" isn't a role, so ${name} is a name, and may do everything; roles are ${roles.join(', ')}`,
    ]
  })
}

/** A sentence for each operator whose token could be guessed in spite of its length. No sentence quotes a token. */
export function guessableWarnings(tokens: AdminTokens): string[] {
  return tokens.flatMap(({ name, token }) => {
    const why = guessableFor(token)
    return why === undefined
      ? []
      : [
          `ADMIN_TOKEN: the token of ${name} ${why}, so it may be guessed; openssl rand -hex 32 makes another`,
        ]
  })
}

function guessableFor(token: string): string | undefined {
  if (new Set(token).size < leastDifferent) return 'has few different characters'
  // Words and numbers between marks, or words that stand in examples.
  const isOfWords = /^(?:[a-z]+|\d+)(?:[-_.](?:[a-z]+|\d+))+$/i.test(token)
  const isUsual = /admin|token|secret|password|changeme|tollgate/i.test(token)
  return isOfWords || isUsual ? 'is made of words' : undefined
}

function faultOf({ name, token }: AdminTokens[number], written: string): string | undefined {
  const [, last = ''] = /\/([^/]*)$/.exec(written) ?? []
  const near = roles.some((role) => role === last) ? undefined : roleNear(last)
  if (near !== undefined) return `names the role "${last}", which doesn't exist; is it ${near}?`
  if (token === '') return 'has no token in it'
  if (/\s/.test(token)) return 'has a space in its token'
  if (token.length < shortestToken) {
    return `has a token of ${token.length} characters, where at least ${shortestToken} are needed`
  }
  return isLine(name) ? undefined : 'has no readable name before its colon'
}

/** The role that a word is most likely meant to be. */
function roleNear(word: string): Role | undefined {
  const like = nearest(word, roles) ?? roles.find((role) => word.toLowerCase().startsWith(role))
  return roles.find((role) => role === like)
}

export type GuessesOptions = Readonly<{
  /** The place where something is guessed. Each place has counts of its own. */
  at: 'admin' | 'console'
  /** The limits of an address in the configuration in force. */
  limits: () => Limits
  clock: Clock
  /** The counts of the whole fleet; without them, this gateway counts alone. */
  store: StrangerStore | undefined
}>

/** Counts failed attempts by address, like requests of callers without a key. */
export class Guesses {
  readonly #strangers: Strangers
  readonly #limits: () => Limits

  constructor({ at, limits, clock, store }: GuessesOptions) {
    this.#limits = limits
    this.#strangers = new Strangers({ limits: limits(), clock, store, prefix: `${at} ` })
  }

  /** The refusal of a request without a valid token: `why`, or 429 over the limit of its address. */
  refuse(address: string | undefined, why: () => Refusal): Refusal {
    this.#strangers.limits = this.#limits()
    return this.#strangers.refuse(plainAddress(address ?? ''), why).refusal
  }
}

/** The place of a token in `ADMIN_TOKEN`. It takes the same time whatever the token is. */
export function placeOf(given: string, tokens: AdminTokens): number | undefined {
  const [place] = tokens.flatMap(({ token }, i) => (isSame(given, token) ? [i] : []))
  return place
}

/** The holder of the token in an `Authorization` header. */
export function holderOf(header: string | undefined, tokens: AdminTokens): Operator | undefined {
  const [, given = ''] = /^Bearer (\S+)$/i.exec(header ?? '') ?? []
  const holder = tokens[placeOf(given, tokens) ?? -1]
  return holder && { name: holder.name, role: holder.role }
}

/**
 * Refuses requests without a valid token or session, before anything else of them is read. A valid one works from any
 * address, even from one that is over its limit of failed attempts.
 */
export function requireToken(
  app: FastifyInstance,
  tokens: AdminTokens,
  guesses: Guesses,
  entryOf: ReturnType<typeof entryFinder>,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { authorization } = request.headers
    const holder = holderOf(authorization, tokens)
    if (holder !== undefined) {
      request.admin = holder
      return done()
    }
    if (tokens.length === 0) return done(closed())
    const entry = authorization === undefined ? entryOf(request.raw) : undefined
    if (entry && !(entry instanceof Refusal)) {
      request.admin = entry.session
      void reply.headers(entry.headers)
      return done()
    }
    if (entry && entry.status !== 401) return done(entry)
    const why = (): Refusal => entry ?? (authorization === undefined ? missing() : invalid())
    done(guesses.refuse(request.raw.socket.remoteAddress, why))
  })
}

/** The operator of a request that `requireToken` has let through. */
export function operatorOf({ admin }: FastifyRequest): Operator {
  if (admin) return admin
  throw new Error('a request to an operation has no token')
}

/** Refuses an operator whose role allows less than an operation needs, before its body is read. */
export function roleScreen(needed: Role): onRequestHookHandler {
  return (request, _reply, done) => {
    const { name, role } = operatorOf(request)
    if (allows(role, needed)) return done()
    done(
      new Refusal(
        'forbidden',
        `This needs the role ${needed === 'all' ? 'all (a token without a role)' : needed}; ${name} has the role ${role}.`,
      ),
    )
  }
}

/** Whether two texts are the same, in the same time for every text that is given. */
export function isSame(given: string, right: string): boolean {
  return timingSafeEqual(digest(given), digest(right))
}

/** A digest of fixed length, so that a comparison takes the same time for every token. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
