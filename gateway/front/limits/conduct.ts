import { earnedEnd } from './ban-ends.ts'

/** When strikes become a ban, and how long it lasts. */
export type BanRules = Readonly<{
  strikes: number
  withinMs: number
  graceMs: number
  forMs: number
  factor: number
  atMostMs: number
  memoryMs: number
}>

/** The recent refusals, strikes and bans of a key. */
export type Conduct = {
  /** When the running episode of refusals began; 0 if none runs. */
  refusedAtMs: number
  /** Times of the latest strikes, oldest first. */
  strikesMs: number[]
  /** It also says whether the ban was earned: ban-ends.ts. */
  bannedUntilMs: number
  /** The number of bans in a row that the next one continues. */
  bans: number
}

export function newConduct(): Conduct {
  return { refusedAtMs: 0, strikesMs: [], bannedUntilMs: 0, bans: 0 }
}

/** Notes a refusal; `true` if it bans the key. */
export function refuse(conduct: Conduct, rules: BanRules, nowMs: number): boolean {
  if (conduct.refusedAtMs === 0) conduct.refusedAtMs = nowMs
  if (nowMs - conduct.refusedAtMs <= rules.graceMs) return false
  conduct.strikesMs = [...conduct.strikesMs, nowMs].slice(-rules.strikes)
  const [first = nowMs] = conduct.strikesMs
  if (conduct.strikesMs.length < rules.strikes || nowMs - first >= rules.withinMs) return false
  const follows = conduct.bannedUntilMs > 0 && nowMs - conduct.bannedUntilMs <= rules.memoryMs
  conduct.bans = follows ? conduct.bans + 1 : 0
  const lasts = Math.min(rules.forMs * rules.factor ** conduct.bans, rules.atMostMs)
  conduct.bannedUntilMs = earnedEnd(nowMs + Math.floor(lasts))
  conduct.strikesMs = []
  conduct.refusedAtMs = 0
  return true
}

export function isBlank({ refusedAtMs, strikesMs, bannedUntilMs }: Conduct): boolean {
  return refusedAtMs === 0 && strikesMs.length === 0 && bannedUntilMs === 0
}
