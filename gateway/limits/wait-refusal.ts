import { Refusal, type Reason } from '../../shared/refusal.ts'
import { BoundedMap } from '../../shared/bounded-map.ts'
import { retryAfter, decisiveWindow, type Standing } from './headers.ts'
import type { BanRules } from './step.ts'

type Code = 'rate_limit_exceeded' | 'key_banned' | 'too_many_failed_attempts'

/** The latest refusals. Most within one second are alike, and making one costs 2 µs. */
const refusalsByContent = new BoundedMap<Refusal>(1_000)

/** A 429 that says why, how many seconds to wait, and what happens to a caller that doesn't wait. */
export function waitRefusal(code: Code, standing: Standing, bans?: BanRules): Refusal {
  const { limit = 0, name } = decisiveWindow(standing.decision, standing.limits) ?? {}
  const { strikes } = standing.decision
  const seconds = retryAfter(standing)
  const content = `${code} ${limit} ${name} ${seconds} ${strikes} ${bans?.strikes} ${bans?.withinMs}`
  const cached = refusalsByContent.get(content)
  if (cached) return cached
  const after = `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`
  const sentence =
    code === 'key_banned'
      ? banSentence(after, bans)
      : code === 'rate_limit_exceeded'
        ? `${limit.toLocaleString('en')} requests a ${name} are used up. ${after}.${strikeWarning(strikes, bans)}`
        : `Too many requests without a valid key came from your address. ${after}.`
  const refusal = new Refusal(code, sentence, {
    'retry-after': String(seconds),
    'cache-control': 'no-store',
  }).because(reasonFor(code, name))
  refusalsByContent.set(content, refusal)
  return refusal
}

function reasonFor(code: Code, window: 'minute' | 'day' | undefined): Reason | undefined {
  if (code === 'too_many_failed_attempts') return 'strangers'
  return code === 'key_banned' ? 'ban' : window
}

/** Names both causes, because the store doesn't keep whether an operator banned the key. */
function banSentence(after: string, bans: BanRules | undefined): string {
  if (!bans) return `Your key was banned by an operator. ${after}.`
  const { strikes, withinMs } = bans
  const requests =
    strikes === 1 ? 'a request' : `${strikes} requests within ${durationText(withinMs)}`
  return `Your key is banned: ${requests} came after a 429 had told it to wait, or an operator banned it. ${after}, and after a 429 wait for Retry-After.`
}

/** A warning, from the first strike on. */
function strikeWarning(strikes: number, bans: BanRules | undefined): string {
  if (!bans || strikes === 0) return ''
  return ` Requests before that are strikes, ${bans.strikes} of which ban your key; it has ${strikes}.`
}

function durationText(milliseconds: number): string {
  const seconds = milliseconds / 1_000
  return seconds % 60 === 0 && seconds >= 120 ? `${seconds / 60} minutes` : `${seconds} seconds`
}
