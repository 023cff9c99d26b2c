import { Refusal } from '../../shared/refusal.ts'
import { BoundedMap } from '../../shared/bounded-map.ts'
import { retryAfter, tellingWindow, type Standing } from './headers.ts'
import type { BanRules } from './step.ts'

type Code = 'rate_limit_exceeded' | 'key_banned' | 'too_many_failed_attempts'

/** Those made lately. Within a second most are told the same, and to make one costs 2 µs. */
const made = new BoundedMap<Refusal>(1_000)

/** A refusal that says why, after how many seconds to come back, and what happens to who doesn't wait. */
export function comeBack(code: Code, standing: Standing, bans?: BanRules): Refusal {
  const { limit = 0, name = '' } = tellingWindow(standing.decision, standing.limits) ?? {}
  const { strikes } = standing.decision
  const seconds = retryAfter(standing)
  const content = `${code} ${limit} ${name} ${seconds} ${strikes} ${bans?.strikes} ${bans?.withinMs}`
  const known = made.get(content)
  if (known) return known
  const after = `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`
  const sentence =
    code === 'key_banned'
      ? banned(after, bans)
      : code === 'rate_limit_exceeded'
        ? `${limit.toLocaleString('en')} requests a ${name} are used up. ${after}.${warning(strikes, bans)}`
        : `Too many requests without a valid key came from your address. ${after}.`
  const refusal = new Refusal(code, sentence, {
    'retry-after': String(seconds),
    'cache-control': 'no-store',
  })
  made.set(content, refusal)
  return refusal
}

/** Operators ban, too, and the store doesn't keep who did. */
function banned(after: string, bans: BanRules | undefined): string {
  if (!bans) return `Your key was banned by an operator. ${after}.`
  const { strikes, withinMs } = bans
  const requests =
    strikes === 1 ? 'a request' : `${strikes} requests within ${durationText(withinMs)}`
  return `Your key is banned: ${requests} came after a 429 had told it to wait, or an operator banned it. ${after}, and after a 429 wait for Retry-After.`
}

/** Told from the first strike on. */
function warning(strikes: number, bans: BanRules | undefined): string {
  if (!bans || strikes === 0) return ''
  return ` Requests before that are strikes, ${bans.strikes} of which ban your key; it has ${strikes}.`
}

function durationText(milliseconds: number): string {
  const seconds = milliseconds / 1_000
  return seconds % 60 === 0 && seconds >= 120 ? `${seconds / 60} minutes` : `${seconds} seconds`
}
