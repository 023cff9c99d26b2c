/**
 * The end of a ban says whose it is: an operator's ends with a whole second, an earned one never does. So callers and
 * operators are told the kind from every gateway's memory, and no store or message needs another field.
 */
export function isEarned(untilMs: number): boolean {
  return untilMs % 1_000 !== 0
}

/** The end of an earned ban: a millisecond earlier where it would be a whole second. quota.lua does the same. */
export function earnedEnd(untilMs: number): number {
  return untilMs % 1_000 === 0 ? untilMs - 1 : untilMs
}

/** The end of an operator's ban: the next whole second. */
export function setEnd(untilMs: number): number {
  return Math.ceil(untilMs / 1_000) * 1_000
}

/** Why a ban was earned, behind "it is banned:". A plan that bans no more has no number of strikes to tell. */
export function earnedText(strikes?: number): string {
  const requests =
    strikes === undefined ? 'requests' : strikes === 1 ? 'a request' : `${strikes} requests`
  return `it sent ${requests} after a 429 had asked it to wait`
}
