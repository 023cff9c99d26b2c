import type { Clock } from '../../../../shared/clock.ts'
import { outsiderOf } from '../../../front/jwt/claims.ts'
import { unverified, type Unverified } from '../../../front/jwt/form.ts'
import { Issuer, type JwtReason } from '../../../front/jwt/issuer.ts'
import type { Issuers } from '../../../front/jwt/issuers.ts'
import { LiveKeys } from '../../../front/jwt/live-keys.ts'
import type { JwtSettings } from '../../../front/jwt/settings.ts'
import { outsideId } from '../../../front/keys/outside-callers.ts'

type Members = Readonly<Record<string, unknown>>

/** A token, and what a gateway with a configuration would make of it. */
export type JudgedToken = Readonly<{
  header: Members
  claims: Members | null
  /** Why a gateway would refuse it; `null` if it verifies. */
  reason: JwtReason | null
  /** Why the keys of its issuer couldn't be fetched. */
  failure: string | null
  /** Whose it would be, verified or not; `null` if its claims don't say so, or its issuer isn't in the configuration. */
  caller: ReturnType<typeof callerOf>
}>

/**
 * Reads a token, and verifies it by the keys of its issuer: those that the given issuers have, else as they are now.
 * `undefined` if it isn't a JWT.
 */
export async function judgedToken(
  token: string,
  all: readonly JwtSettings[],
  clock: Clock,
  issuers?: Pick<Issuers, 'find'>,
): Promise<JudgedToken | undefined> {
  const unproven = unverified(token)
  if (!unproven) return undefined
  const { header, claims } = unproven
  const settings = all.find(({ issuer }) => issuer === claims?.['iss'])
  const shown = { header, claims: claims ?? null, failure: null }
  if (!claims) return { ...shown, reason: 'jwt_malformed', caller: null }
  if (!settings) return { ...shown, reason: 'jwt_issuer', caller: null }
  const caller = callerOf(settings, claims)
  const live = issuers?.find(settings)
  const verdict = live
    ? await verdictBy(live, token, unproven)
    : await verdictOn(token, unproven, settings, clock)
  return { ...shown, ...verdict, caller }
}

type Verdict = Pick<JudgedToken, 'reason' | 'failure'>

async function verdictOn(
  token: string,
  given: Unverified,
  settings: JwtSettings,
  clock: Clock,
): Promise<Verdict> {
  const keys = new LiveKeys({ source: settings.keys, clock, trouble: () => undefined })
  try {
    await keys.fetch()
    return await verdictBy(new Issuer(settings, keys, await import('jose'), clock), token, given)
  } finally {
    keys.close()
  }
}

async function verdictBy(issuer: Issuer, token: string, given: Unverified): Promise<Verdict> {
  const judgement = await issuer.judge(token, given)
  const { failure = null } = issuer.keys.state
  if (judgement === 'never') return { reason: 'jwt_keys', failure }
  return { reason: typeof judgement === 'string' ? judgement : null, failure }
}

function callerOf(settings: JwtSettings, claims: Members) {
  const outsider = outsiderOf(settings, claims, { isTrusted: false })
  if (!outsider) return null
  const { issuer, subject, name, plan, account = null, scopes, forwarded = [] } = outsider
  const headers = Object.fromEntries(
    forwarded.flatMap((header, i) => (i % 2 ? [] : [[header, forwarded[i + 1] ?? '']])),
  )
  const known = { id: outsideId(outsider), name, issuer, subject, plan, account }
  // Routes that need scopes refuse a claim that can't be read.
  return { ...known, scopes: Array.isArray(scopes) ? scopes : null, headers }
}
