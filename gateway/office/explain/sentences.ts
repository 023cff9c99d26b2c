import { withCommas } from '../../../shared/commas.ts'
import type { Reason, RefusalCode } from '../../../shared/refusal.ts'
import { endText } from '../../../shared/times.ts'
import { holderOf } from '../../front/counts/use.ts'
import { byWindow, windows, type Window } from '../../../shared/windows.ts'
import { earnedText, isEarned } from '../../front/limits/ban-ends.ts'
import type { KeptRefusal, KeptWindow } from '../../front/counts/kept-refusal.ts'
import type { JwtReason } from '../../front/jwt/issuer.ts'

/** Why an answer was refused or failed: the reason, the code if that says all, or `backend` for the backend's own. */
export type Why = Reason | RefusalCode | 'backend'

/** The reason of an answer. */
export function whyOf({ reason, code }: Pick<KeptRefusal, 'reason' | 'code'>): Why {
  return reason ?? code ?? 'backend'
}

/** One sentence, or two, for an operator: why this answer was refused or failed, and from when on it would not have been. */
export function sentenceOf(refusal: KeptRefusal): string {
  const why = whyOf(refusal)
  // The store may have a reason that this version doesn't know.
  const say = Object.hasOwn(sentences, why) ? sentences[why] : undefined
  return typeof say === 'string' ? say : (say ?? bySide)(refusal)
}

type Say = (refusal: KeptRefusal) => string

/** Why a JWT isn't admitted. */
export const jwtSentences: Readonly<Record<JwtReason, string>> = {
  jwt_malformed: 'The token (JWT) is malformed, names a member twice, or has crit in its header.',
  jwt_issuer: 'The token (JWT) is of an issuer that isn’t in the configuration.',
  jwt_signature:
    'The signature of the token (JWT) doesn’t fit, or is by an algorithm that the issuer may not use.',
  jwt_audience:
    'The token (JWT) is for another audience, or a claim isn’t as `claims` in the configuration requires it.',
  jwt_expired: 'The token (JWT) has expired.',
  jwt_early: 'The token (JWT) isn’t valid yet.',
  jwt_claim:
    'A claim of the token (JWT) is missing or wrong: its end, its subject, its plan, its account, its scopes, or one that goes on to backends.',
  jwt_keys:
    'No one key of the issuer is for this token (JWT), or none of its keys could be fetched yet.',
  jwt_callers: 'Its issuer has as many callers as maxCallers allows, and this one is new.',
  jwt_accounts:
    'Its subject has come with as many accounts within a day as one gateway admits, and this one is new.',
}

const sentences: Readonly<Partial<Record<Why, string | Say>>> = {
  no_header: 'No API key was sent.',
  malformed_token:
    'The header for it has no API key in it: a token is cut, or in Authorization not after the word Bearer.',
  two_tokens: 'Two headers had API keys that differ, or a ticket came with another token.',
  ticket: 'The ticket was used, is over a minute old, or came with a request that may have none.',
  bad_check: 'The token is mistyped or invented: its check doesn’t fit.',
  unknown_token: 'No key has this token.',
  expired: (refusal) => `The key ${nameOf(refusal)} has expired.`,
  disabled: (refusal) => `The key ${nameOf(refusal)} is disabled.`,
  revoked: (refusal) => `The key ${nameOf(refusal)} is revoked.`,
  rotated_out: (refusal) =>
    `The key ${nameOf(refusal)} has a newer token: this one was rotated out.`,
  ...jwtSentences,
  strangers: (refusal) =>
    `Too many requests without a valid key came from the address. ${again(fullWindow(refusal)?.resetMs)}`,
  plan_gone: (refusal) => `The configuration has no plan ${refusal.caller?.plan} any more.`,
  plan: (refusal) =>
    `The plan ${refusal.caller?.plan} doesn’t include ${refusal.method} for this path.`,
  method: (refusal) =>
    `The key ${nameOf(refusal)} is restricted to other methods than ${refusal.method}.`,
  path: (refusal) => `The key ${nameOf(refusal)} is restricted to other paths.`,
  address: (refusal) => `The key ${nameOf(refusal)} is restricted to other addresses.`,
  origin: (refusal) => `The key ${nameOf(refusal)} is restricted to pages of other origins.`,
  scope: ({ needs = [], has = '', ...refusal }) =>
    `The route needs ${needs.join(' and ')}; the key ${nameOf(refusal)} has ${has.split(' ').join(', ') || 'no scope'}.`,
  cost: (refusal) =>
    `A request of ${refusal.route} costs more points than the key has in a window.`,
  ...byWindow<Say>((window) => (refusal) => ofWindow(window, refusal)),
  prepaid: ({ ofWindow: { used = 0, resetMs } = {}, caller = {} }) =>
    `All ${withCommas(used)} points that are included or were bought are used (${whoseText(caller)}). A top-up lets it in, or what is included from ${endText(resetMs ?? 0)} on.`,
  ban: (refusal) =>
    `The key ${nameOf(refusal)} is banned: ${causeOf(refusal)}. ${again(refusal.bannedUntilMs)}`,
  pace: 'The gateway’s own endpoints were asked more often than they answer one key.',
  share: ({ upstream, shareTaken: { underWay, share } = { underWay: 0, share: 0 } }) =>
    `The upstream ${upstream} was half full. The quota had ${underWay} requests in flight, and its share was ${share}.`,
  at_once: ({ underWay: { limit } = { limit: 0 }, ...refusal }) => {
    const { operation, cap } = holderOf(refusal)
    const whose = operation ? ` of ${operation}` : cap ? ' of its cap' : ''
    return `${withCommas(limit)} requests${whose} of the key ${nameOf(refusal)} were under way, as many as its limit allows at once.`
  },
  sunset: 'The operation is past its sunset.',
  brownout: 'The operation is deprecated, and was switched off for a brownout.',
  store: 'The store was out of reach.',
  app: 'The app’s own function that finds keys or callers failed: its log has the error.',
  refused: (refusal) => `${targetOf(refusal)} accepted no connection.`,
  reset: (refusal) =>
    `${targetOf(refusal)} closed the connection, or sent no valid HTTP${after(refusal)}.`,
  bad_header: (refusal) => `${targetOf(refusal)} sent a header that can’t be forwarded.`,
  unsigned: (refusal) =>
    `${targetOf(refusal)} refuses what this gateway signs: they have different secrets.`,
  late: (refusal) => `${targetOf(refusal)} did not answer in time${after(refusal)}.`,
  none_healthy: (refusal) => `No target of the upstream ${refusal.upstream} was healthy.`,
  overloaded: (refusal) =>
    `The upstream ${refusal.upstream} had as many requests in flight as it takes.`,
  backend: (refusal) => `${targetOf(refusal)} answered ${refusal.status} itself${after(refusal)}.`,
  invalid_request: 'The request was malformed, or could be read in two ways.',
  not_found: (refusal) => `No route matches ${refusal.method} and this path.`,
  method_not_allowed: (refusal) =>
    refusal.route === 'none'
      ? 'The gateway takes no such method.'
      : `No route of ${refusal.route} takes ${refusal.method}.`,
  request_timeout: 'The request did not arrive in time.',
  payload_too_large: (refusal) => `The body was larger than ${refusal.route} takes.`,
  headers_too_large: 'The headers were larger than the gateway takes.',
  internal_error: 'The gateway failed; its log has the cause, by the id of the request.',
}

function bySide({ status, code }: KeptRefusal): string {
  return `The gateway answered ${status}, ${code ?? 'without a code'}.`
}

function ofWindow({ name }: Window, refusal: KeptRefusal): string {
  const window = refusal.ofWindow ?? refusal.windows[name]
  if (!window) return bySide(refusal)
  const { limit, used = limit, resetMs } = window
  const inWindow = `${name === 'day' ? 'on' : 'in'} this ${name}`
  const { operation, cap } = holderOf(refusal)
  const points = refusal.cost === 1 ? '' : ' points'
  const ofWhat = operation !== undefined ? ` of ${operation}` : cap ? ' of the key’s cap' : ''
  const needs = refusal.cost <= 1 ? '' : `, and it costs ${withCommas(refusal.cost)}`
  const sentence = `${withCommas(used)} of ${withCommas(limit)}${points}${ofWhat} ${inWindow} were used${needs} (${whoseText(refusal.caller ?? {})}).`
  return `${sentence} ${again(resetMs)}`
}

/** The plan and the account of a key. The quota of a test key isn't its account's. */
export function whoseText({
  plan = '',
  account,
  isTest = false,
}: Readonly<{
  plan?: string | null
  account?: string | null | undefined
  isTest?: boolean | undefined
}>): string {
  const parts = [
    `plan ${plan}`,
    ...(isTest ? ['test key'] : []),
    ...(account === undefined || account === null ? [] : [`account ${account}`]),
  ]
  return parts.join(', ')
}

/** From when on it would have been let in. */
function again(fromMs: number | undefined): string {
  return fromMs === undefined ? '' : `It would have been admitted from ${endText(fromMs)}.`
}

function causeOf({ bannedUntilMs }: KeptRefusal): string {
  return isEarned(bannedUntilMs) ? earnedText() : 'an operator has banned it'
}

/** The window that is full for longest, else the shortest one. */
function fullWindow({ windows: kept }: KeptRefusal): KeptWindow | undefined {
  const shown = windows.flatMap(({ name }) => kept[name] ?? [])
  const full = shown.filter(({ limit, used = 0 }) => used >= limit)
  return full.toSorted((one, other) => other.resetMs - one.resetMs)[0] ?? shown[0]
}

function nameOf({ caller }: Pick<KeptRefusal, 'caller'>): string {
  return caller ? `“${caller.name}”` : 'of the request'
}

function targetOf({ upstream, target }: KeptRefusal): string {
  return target === undefined ? `The upstream ${upstream}` : `The target ${target} of ${upstream}`
}

function after({ upstreamMs }: KeptRefusal): string {
  return upstreamMs === undefined ? '' : `, after ${withCommas(Math.round(upstreamMs))} ms`
}
