import { callerValue } from '../../../shared/caller-value.ts'
import { memberAt } from '../../../shared/pointer.ts'
import { isSubject, nameOf, type Outsider, type Voucher } from '../keys/outsider.ts'
import { isLine } from '../keys/settings.ts'
import type { Claims, JwtSettings, PlanOfClaims } from './settings.ts'

/** How far clocks may differ. */
export const leewaySeconds = 60

/** The most bytes of a header with a claim. */
const longestValue = 1_024

/** The kind of the records of callers with tokens. */
export const jwtKind = 'jwt'

/** What verified claims say of a caller; `undefined` if one that is needed is missing, or isn't what it should be. */
export function outsiderOf(
  settings: JwtSettings,
  claims: Claims,
  by: Voucher,
): Outsider | undefined {
  const { issuer } = settings
  const subject = memberAt(claims, settings.subject)
  const plan = planByClaim(settings.plan, claims) ?? settings.plan.otherwise
  const { claim, prefix = '' } = settings.account ?? {}
  const group = claim && memberAt(claims, claim)
  const account = isText(group) ? prefix + group : undefined
  if (typeof subject !== 'string' || !isSubject(subject) || plan === undefined) return undefined
  if (group !== undefined && !isText(account)) return undefined
  const name = settings.name && memberAt(claims, settings.name)
  const forwarded = forwardedOf(settings, claims)
  if (!forwarded) return undefined
  const untilMs = (Number(claims['exp']) + leewaySeconds) * 1_000
  const named = isText(name) ? name : nameOf(subject)
  const scopes = scopesOf(settings, claims)
  return {
    ...{ kind: jwtKind, issuer, subject, name: named, plan, account, untilMs, by },
    ...{ scopes, forwarded },
  }
}

/** Whether claims are as an issuer's settings require them. */
export function areForUs({ claims: required }: JwtSettings, claims: Claims): boolean {
  return required.every(({ claim, texts }) => {
    const value = memberAt(claims, claim)
    return texts.some((text) => text === value)
  })
}

/** Where the plan of verified claims comes from; `undefined` if their issuer has one plan for all. */
export function originOfPlan({ plan }: JwtSettings, claims: Claims): PlanOrigin | undefined {
  if (!plan.claim) return undefined
  return planByClaim(plan, claims) === undefined ? 'else' : 'claim'
}

export const planOrigins = ['claim', 'else'] as const
export type PlanOrigin = (typeof planOrigins)[number]

function planByClaim({ claim, is }: PlanOfClaims, claims: Claims): string | undefined {
  const values: readonly unknown[] = claim ? [memberAt(claims, claim)].flat() : []
  for (const [value, plan] of is) if (values.includes(value)) return plan
  return undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && isLine(value)
}

/**
 * The headers in which backends get claims, names and values in turn; `undefined` if a claim can't be told in a header: a
 * backend may decide by it, and would find nothing.
 */
function forwardedOf({ forward }: JwtSettings, claims: Claims): readonly string[] | undefined {
  const headers: string[] = []
  for (const [header, claim] of forward) {
    const text = textOf(memberAt(claims, claim))
    if (text === undefined || !text.isWellFormed()) return undefined
    const value = callerValue(text)
    if (value.length > longestValue) return undefined
    if (value !== '') headers.push(header, value)
  }
  return headers
}

/** A claim as a text, empty if it isn't there; `undefined` if it has none. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined
  const isList = Array.isArray(value) && value.every(isWord)
  return isList ? value.join(' ') : undefined
}

function isWord(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && !value.includes(' ')
}

/** The scopes of verified claims. */
function scopesOf({ scopes }: JwtSettings, claims: Claims): readonly string[] | 'malformed' {
  const value = (scopes ? memberAt(claims, scopes) : (claims['scope'] ?? claims['scp'])) ?? ''
  if (typeof value === 'string') return value.split(' ').filter((each) => each !== '')
  const isList = Array.isArray(value) && value.every((each) => typeof each === 'string')
  return isList ? value : 'malformed'
}
