import type { FastifyRequest } from 'fastify'
import { logOf } from '../../../shared/request-log.ts'
import { authorization } from './key-header.ts'
import { longestToken } from './token-length.ts'

const token = '[A-Za-z0-9\\-._~+/]+=*'
const alone = new RegExp(`^${token}$`)
const afterBearer = new RegExp(`^bearer +${token}$`, 'i')

/** Why a request has no token that could be looked up: two headers hold different ones, or the app's function failed. */
export type NoToken = Readonly<{ why: 'missing' | 'malformed' | 'differing' | 'failed' }>

/** Finds the token of a request, or says why there is none. */
export type TokenOf = (request: FastifyRequest) => string | NoToken

/** An app's own way to find the token of a request; `undefined` if it has none. */
export type KeyOf = (request: FastifyRequest) => string | undefined

export type TokenSourceOptions = Readonly<{
  /** The headers in which a token may come, in lower case. */
  from: readonly string[]
  /** Finds the token in place of the headers. */
  keyOf?: KeyOf | undefined
  /** The most characters of a token. */
  longest?: number | undefined
}>

const missing: NoToken = { why: 'missing' }
const malformed: NoToken = { why: 'malformed' }
const differing: NoToken = { why: 'differing' }
const failed: NoToken = { why: 'failed' }

export function tokenSource({ from, keyOf, longest = longestToken }: TokenSourceOptions): TokenOf {
  if (keyOf) return (request) => askedOf(keyOf, request, longest)
  const [first = authorization, ...others] = from
  if (others.length === 0) return ({ raw }) => tokenIn(raw.rawHeaders, first, longest)
  return ({ raw }) => tokenInOneOf(from, raw.rawHeaders, longest)
}

function tokenIn(rawHeaders: readonly string[], header: string, longest: number): string | NoToken {
  let value: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name?.length !== header.length || name.toLowerCase() !== header) continue
    // Servers disagree about which of two headers counts, so neither is used.
    if (value !== undefined) return malformed
    value = rawHeaders[i + 1]
  }
  if (value === undefined) return missing
  const isToken = afterBearer.test(value) || (header !== authorization && alone.test(value))
  if (!isToken) return malformed
  const token = value.slice(value.lastIndexOf(' ') + 1)
  return token.length <= longest ? token : malformed
}

/** The token of several headers: of one, or the same in each. */
function tokenInOneOf(
  from: readonly string[],
  rawHeaders: readonly string[],
  longest: number,
): string | NoToken {
  let token: string | NoToken = missing
  for (const header of from) {
    const other = tokenIn(rawHeaders, header, longest)
    if (other === missing || other === token) continue
    if (token !== missing) return differing
    token = other
  }
  return token
}

function askedOf(keyOf: KeyOf, request: FastifyRequest, longest: number): string | NoToken {
  try {
    const value: unknown = keyOf(request)
    if (value === undefined || value === null) return missing
    if (value instanceof Promise) {
      // Nobody else waits for it: its rejection would end the process.
      value.catch(() => undefined)
      throw new TypeError('it is async, and must give the key at once, as a text')
    }
    // Such as a parameter that came twice.
    if (typeof value !== 'string') return malformed
    return value.length <= longest && alone.test(value) ? value : malformed
  } catch (err) {
    logOf(request).error({ err }, 'Tollgate’s option "keyOf" has thrown')
    return failed
  }
}
