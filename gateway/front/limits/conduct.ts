import { earnedEnd } from './ban-ends.ts'
import { limitOf, type Limits } from './limits.ts'
import { numberAt, shortest } from '../../../shared/windows.ts'

/** When strikes become a ban, and how long it lasts. */
export type BanRules = Readonly<{
  /** The strikes that ban a key, for requests of one point. */
  strikes: number
  /** The requests of one point of which these are a share; `undefined` where the configuration says a number. */
  share?: number | undefined
  withinMs: number
  graceMs: number
  forMs: number
  factor: number
  atMostMs: number
  memoryMs: number
}>

/** The rules as the configuration has them: strikes as a number, or in percent of the requests that a minute lets in. */
export type BanSettings = Omit<BanRules, 'strikes' | 'share'> &
  Readonly<{ strikes: number | Readonly<{ percent: number }> }>

/** The bounds of a share, and what it is where no minute is limited. */
const [fewest, most, withoutMinute] = [20, 1_000, 300]

/** The rules for a caller with these limits. */
export function banRules({ strikes, ...times }: BanSettings, limits: Limits): BanRules {
  if (typeof strikes === 'number') return { strikes, ...times }
  const minute = limitOf(limits, shortest)
  if (minute === Infinity) return { strikes: withoutMinute, ...times }
  const share = (minute * strikes.percent) / 100
  return { strikes: bounded(share), share, ...times }
}

/** The rules for dearer requests, of which a minute lets in fewer. Each is made once: a store may remember them by identity. */
export function rulesFor(rules: BanRules, cost: number): BanRules {
  if (rules.share === undefined || cost <= 1) return rules
  const strikes = bounded(rules.share / cost)
  if (strikes === rules.strikes) return rules
  const byStrikes = dearer.get(rules) ?? new Map<number, BanRules>()
  const present = byStrikes.get(strikes) ?? { ...rules, strikes }
  dearer.set(rules, byStrikes.set(strikes, present))
  return present
}

const dearer = new WeakMap<BanRules, Map<number, BanRules>>()

function bounded(share: number): number {
  return Math.min(most, Math.max(fewest, Math.floor(share)))
}

/** The refusals, strikes and bans of a key. */
export type Conduct = {
  /** When the running episode of refusals began; 0 if none runs. */
  refusedAtMs: number
  /** The strikes since the first one that counts, and its time. */
  strikes: number
  strikesSinceMs: number
  /** It also says whether the ban was earned: ban-ends.ts. */
  bannedUntilMs: number
  /** The number of bans in a row that the next one continues. */
  bans: number
}

export function newConduct(): Conduct {
  return { refusedAtMs: 0, strikes: 0, strikesSinceMs: 0, bannedUntilMs: 0, bans: 0 }
}

/** Notes a refusal that may be a strike; `true` if it bans the key. */
export function refuse(conduct: Conduct, rules: BanRules, nowMs: number): boolean {
  // A caller that has waited since begins anew: the minute is used up by others.
  if (!isInMinute(conduct.refusedAtMs, nowMs)) conduct.refusedAtMs = nowMs
  if (nowMs - conduct.refusedAtMs <= rules.graceMs) return false
  if (nowMs - conduct.strikesSinceMs >= rules.withinMs) {
    conduct.strikes = 0
    conduct.strikesSinceMs = nowMs
  }
  if (++conduct.strikes < rules.strikes) return false
  const follows = conduct.bannedUntilMs > 0 && nowMs - conduct.bannedUntilMs <= rules.memoryMs
  conduct.bans = follows ? conduct.bans + 1 : 0
  const lasts = Math.min(rules.forMs * rules.factor ** conduct.bans, rules.atMostMs)
  conduct.bannedUntilMs = earnedEnd(nowMs + Math.floor(lasts))
  forgive(conduct)
  return true
}

function isInMinute(atMs: number, nowMs: number): boolean {
  return numberAt(shortest, atMs) === numberAt(shortest, nowMs)
}

/** Ends the episode that runs, and takes its strikes away. */
export function forgive(conduct: Conduct): void {
  conduct.refusedAtMs = conduct.strikes = conduct.strikesSinceMs = 0
}

export function isBlank({ refusedAtMs, strikes, bannedUntilMs }: Conduct): boolean {
  return refusedAtMs === 0 && strikes === 0 && bannedUntilMs === 0
}
