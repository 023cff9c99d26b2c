import type { FastifyInstance } from 'fastify'
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../shared/clock.ts'
import { Refusal } from '../../shared/refusal.ts'
import { plainAddress } from '../http/address.ts'
import { isLine } from '../keys/settings.ts'
import type { Limits } from '../limits/limits.ts'
import { Strangers } from '../limits/strangers.ts'

/** Who may operate a gateway: tokens by the names of those who have them. */
export type AdminTokens = readonly Readonly<{ name: string; token: string }>[]

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose admin token a request has. */
    admin: string
  }
}

const challenge = 'Bearer realm="tollgate admin"'

/** The answer of a gateway that has no token; the command line recognises it. */
export const noToken = 'no ADMIN_TOKEN is set'

/** As many random characters are too many to be guessed. */
const shortestToken = 16

/**
 * The tokens of an ADMIN_TOKEN: one, or several between commas, each with a name before a colon. Throws a sentence
 * if one of them could be guessed or means nothing; it never quotes any of them.
 */
export function adminTokensFrom(setting = ''): AdminTokens {
  if (setting.trim() === '') return []
  const parts = setting.split(',').map((part) => part.trim())
  return parts.map((part, i) => {
    const [first = '', second, ...more] = part.split(':')
    const named =
      second === undefined ? { name: 'admin', token: first } : { name: first, token: second }
    const why = more.length > 0 ? 'has more than one colon' : faultOf(named)
    if (why === undefined) return named
    const which = parts.length > 1 ? `part ${i + 1} of ADMIN_TOKEN` : 'ADMIN_TOKEN'
    throw new Error(
      `${which} ${why}. Write TOKEN, or alice:TOKEN,bob:TOKEN; openssl rand -hex 32 makes one`,
    )
  })
}

function faultOf({ name, token }: AdminTokens[number]): string | undefined {
  if (token === '') return 'has no token in it'
  if (/\s/.test(token)) return 'has a space in its token'
  if (token.length < shortestToken) {
    return `has a token of ${token.length} characters, where at least ${shortestToken} are needed`
  }
  return isLine(name) ? undefined : 'has no name before its colon that can be read'
}

/** Counts by address who guesses, as callers without a key are counted; in this process's memory alone. */
export class Guesses {
  readonly #strangers: Strangers
  readonly #limits: () => Limits

  /** `limits` gives those of the configuration that is in force. */
  constructor(limits: () => Limits, clock: Clock) {
    this.#limits = limits
    this.#strangers = new Strangers(limits(), clock)
  }

  /** What somebody is told who has no token that works: what is wrong with it, or to come back later. */
  refuse(address: string | undefined, why: () => Refusal): Refusal {
    this.#strangers.limits = this.#limits()
    return this.#strangers.refuse(plainAddress(address ?? ''), why).refusal
  }
}

/** Whose token an `Authorization` header has; how long that takes tells nothing of any of them. */
export function holderOf(header: string | undefined, tokens: AdminTokens): string | undefined {
  const [, given = ''] = /^Bearer (\S+)$/i.exec(header ?? '') ?? []
  const proof = digest(given)
  const [holder] = tokens.filter(({ token }) => timingSafeEqual(proof, digest(token)))
  return holder?.name
}

/**
 * Refuses whoever has none of the tokens, before anything else of a request is looked at. One that works is taken
 * from any address, whoever guesses there.
 */
export function requireToken(app: FastifyInstance, tokens: AdminTokens, guesses: Guesses): void {
  app.decorateRequest('admin', '')
  app.addHook('onRequest', (request, _reply, done) => {
    const { authorization } = request.headers
    const holder = holderOf(authorization, tokens)
    if (holder !== undefined) {
      request.admin = holder
      return done()
    }
    if (tokens.length === 0) return done(closed())
    const why = authorization === undefined ? missing : invalid
    done(guesses.refuse(request.raw.socket.remoteAddress, why))
  })
}

function closed(): Refusal {
  return new Refusal(
    'forbidden',
    `Nothing is told here: ${noToken}. Set it where the gateway starts.`,
  )
}

function missing(): Refusal {
  return new Refusal('missing_api_key', 'Send the token: "Authorization: Bearer <ADMIN_TOKEN>".', {
    'www-authenticate': challenge,
    'cache-control': 'no-store',
  })
}

function invalid(): Refusal {
  return new Refusal('invalid_api_key', 'The token is none of those in ADMIN_TOKEN.', {
    'www-authenticate': `${challenge}, error="invalid_token"`,
    'cache-control': 'no-store',
  })
}

/** Of one length, so that comparing takes the same time whatever is compared. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
