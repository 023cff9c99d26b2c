import type { Reason, RefusalCode } from '../../../shared/refusal.ts'
import { endText } from '../../../shared/times.ts'
import { byWindow, longestFirst, type Window } from '../../../shared/windows.ts'
import { earnedText, isEarned } from '../../front/limits/ban-ends.ts'
import type { KeptRefusal, KeptWindow } from '../../front/counts/refusal-block.ts'

/** Why an answer was refused or failed: the reason, the code if that says all, or `backend` for the backend's own. */
export type Why = Reason | RefusalCode | 'backend'

/** The reason of an answer. */
export function whyOf({ reason, code }: Pick<KeptRefusal, 'reason' | 'code'>): Why {
  return reason ?? code ?? 'backend'
}

/** One sentence, or two, for an operator: why this answer was refused or failed, and from when on it would not have been. */
export function sentenceOf(kept: KeptRefusal): string {
  const why = whyOf(kept)
  const say = sentences[why]
  return say ? say(kept) : bySide(kept)
}

type Say = (kept: KeptRefusal) => string

const sentences: Readonly<Partial<Record<Why, Say>>> = {
  no_header: () => 'No API key was sent.',
  malformed_token: () =>
    'The Authorization header has no API key in it: a token is cut, or not after the word Bearer.',
  bad_check: () => 'The token is mistyped or invented: its check doesn’t fit.',
  unknown_token: () => 'No key has this token.',
  expired: (kept) => `The key ${nameOf(kept)} has expired.`,
  disabled: (kept) => `The key ${nameOf(kept)} is disabled.`,
  revoked: (kept) => `The key ${nameOf(kept)} is revoked.`,
  rotated_out: (kept) => `The key ${nameOf(kept)} has a newer token: this one was rotated out.`,
  strangers: (kept) =>
    `Too many requests without a valid key came from the address. ${again(fullWindow(kept)?.resetMs)}`,
  plan_gone: (kept) => `The configuration has no plan ${kept.caller?.plan} any more.`,
  plan: (kept) => `The plan ${kept.caller?.plan} doesn’t include ${kept.method} for this path.`,
  method: (kept) => `The key ${nameOf(kept)} is restricted to other methods than ${kept.method}.`,
  path: (kept) => `The key ${nameOf(kept)} is restricted to other paths.`,
  address: (kept) => `The key ${nameOf(kept)} is restricted to other addresses.`,
  cost: (kept) => `A request of ${kept.route} costs more points than the key has in a window.`,
  ...byWindow<Say>((window) => (kept) => ofWindow(window, kept)),
  ban: (kept) =>
    `The key ${nameOf(kept)} is banned: ${causeOf(kept)}. ${again(kept.bannedUntilMs)}`,
  pace: () => 'The gateway’s own endpoints were asked more often than they answer one key.',
  share: ({ upstream, shareTaken: { underWay, share } }) =>
    `The upstream ${upstream} was half full. The quota had ${underWay} requests under way, and its share was ${share}.`,
  sunset: () => 'The operation is past its sunset.',
  brownout: () => 'The operation is deprecated, and was switched off for a brownout.',
  store: () => 'The store was out of reach.',
  refused: (kept) => `${targetOf(kept)} accepted no connection.`,
  reset: (kept) => `${targetOf(kept)} closed the connection, or sent no valid HTTP${after(kept)}.`,
  bad_header: (kept) => `${targetOf(kept)} sent a header that can’t be forwarded.`,
  unsigned: (kept) =>
    `${targetOf(kept)} refuses what this gateway signs: they have different secrets.`,
  late: (kept) => `${targetOf(kept)} did not answer in time${after(kept)}.`,
  none_healthy: (kept) => `No target of the upstream ${kept.upstream} was healthy.`,
  overloaded: (kept) => `The upstream ${kept.upstream} had as many requests under way as it takes.`,
  backend: (kept) => `${targetOf(kept)} answered ${kept.status} itself${after(kept)}.`,
  invalid_request: () => 'The request was malformed, or could be read in two ways.',
  not_found: (kept) => `No route matches ${kept.method} and this path.`,
  method_not_allowed: (kept) =>
    kept.route === 'none'
      ? 'The gateway takes no such method.'
      : `No route of ${kept.route} takes ${kept.method}.`,
  request_timeout: () => 'The request did not arrive in time.',
  payload_too_large: (kept) => `The body was larger than ${kept.route} takes.`,
  headers_too_large: () => 'The headers were larger than the gateway takes.',
  internal_error: () => 'The gateway failed; its log has the cause, by the id of the request.',
}

function bySide({ status, code }: KeptRefusal): string {
  return `The gateway answered ${status}, ${code ?? 'without a code'}.`
}

function ofWindow({ name }: Window, kept: KeptRefusal): string {
  const keptWindow = kept.windows[name]
  if (!keptWindow) return bySide(kept)
  const { limit, used = limit, resetMs } = keptWindow
  const inWindow = `${name === 'day' ? 'on' : 'in'} this ${name}`
  const points = kept.cost === 1 ? '' : ' points'
  const needs = kept.cost === 1 ? '' : `, and it costs ${count(kept.cost)}`
  const sentence = `${count(used)} of ${count(limit)}${points} ${inWindow} were used${needs} (${whoseText(kept.caller ?? {})}).`
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
  return fromMs === undefined ? '' : `It would have been let in from ${endText(fromMs)}.`
}

function causeOf({ bannedUntilMs }: KeptRefusal): string {
  return isEarned(bannedUntilMs) ? earnedText() : 'an operator has banned it'
}

/** The longest window that is full, else the shortest one. */
function fullWindow({ windows: kept }: KeptRefusal): KeptWindow | undefined {
  const shown = longestFirst.flatMap(({ name }) => kept[name] ?? [])
  return shown.find(({ limit, used = 0 }) => used >= limit) ?? shown.at(-1)
}

function nameOf({ caller }: KeptRefusal): string {
  return caller ? `“${caller.name}”` : 'of the request'
}

function targetOf({ upstream, target }: KeptRefusal): string {
  return target === undefined ? `The upstream ${upstream}` : `The target ${target} of ${upstream}`
}

function after({ upstreamMs }: KeptRefusal): string {
  return upstreamMs === undefined ? '' : `, after ${count(Math.round(upstreamMs))} ms`
}

function count(number: number): string {
  return number.toLocaleString('en')
}
