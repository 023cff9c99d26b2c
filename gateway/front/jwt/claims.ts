import { isSubject, nameOf, type Outsider, type Voucher } from '../keys/outsider.ts'
import { isLine } from '../keys/settings.ts'
import type { JwtSettings, PlanOfClaims } from './settings.ts'

/** How far clocks may differ. */
export const leewaySeconds = 60

/** The kind of the records of callers with tokens. */
export const jwtKind = 'jwt'

export type Claims = Readonly<Record<string, unknown>>

/** What verified claims say of a caller; `undefined` if one that is needed is missing, or isn't what it should be. */
export function outsiderOf(
  settings: JwtSettings,
  claims: Claims,
  by: Voucher,
): Outsider | undefined {
  const { issuer } = settings
  const subject = subjectOf(settings, claims)
  const plan = planOf(settings.plan, claims)
  const { claim, prefix = '' } = settings.account ?? {}
  const group = claim === undefined ? undefined : claims[claim]
  const account = isText(group) ? prefix + group : undefined
  if (subject === undefined || plan === undefined) return undefined
  if (group !== undefined && !isText(account)) return undefined
  const name = settings.name === undefined ? undefined : claims[settings.name]
  const untilMs = (Number(claims['exp']) + leewaySeconds) * 1_000
  const named = isText(name) ? name : nameOf(subject)
  return { kind: jwtKind, issuer, subject, name: named, plan, account, untilMs, by }
}

/** The subject of claims. */
export function subjectOf(
  { subject: claim }: Pick<JwtSettings, 'subject'>,
  claims: Claims,
): string | undefined {
  const subject = claims[claim]
  return typeof subject === 'string' && isSubject(subject) ? subject : undefined
}

function planOf({ claim, is, otherwise }: PlanOfClaims, claims: Claims): string | undefined {
  const value = claim === undefined ? undefined : claims[claim]
  return (typeof value === 'string' ? is.get(value) : undefined) ?? otherwise
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && isLine(value)
}
