import { withGrant, type Grant, type QuotaGrants } from '../../limits/grants.ts'
import type { Conduct, QuotaState } from '../../limits/step.ts'

/** The number of digits of a strike's time. */
const strikeDigits = 13

/** A quota from the fields of its hash, which quota.lua describes; `undefined` if it is damaged. */
export function stateOfHash(fields: Readonly<Record<string, string>>): QuotaState | undefined {
  const numbers = /^(\d+),(\d+),(\d+),(\d+),(\d+),(\d+)(?:,k)?$/.exec(fields['c'] ?? '')
  if (!numbers) return undefined
  const [minute = 0, minuteUsed = 0, day = 0, dayUsed = 0, dayGivenBack = 0, generation = 0] =
    numbers.slice(1).map(Number)
  const conducts = new Map<string, Conduct>()
  const settled = new Map<string, number>()
  for (const [field, value] of Object.entries(fields)) {
    if (field.startsWith('s:')) settled.set(field.slice(2), Number(value))
    const conduct = field.startsWith('k:') ? conductFrom(value) : undefined
    if (conduct) conducts.set(field.slice(2), conduct)
  }
  const grants = grantLines(fields['n'] ?? '').reduce<QuotaGrants | undefined>(
    (sums, grant) => withGrant(sums, grant),
    undefined,
  )
  return {
    minute,
    minuteUsed,
    day,
    dayUsed,
    dayGivenBack,
    generation,
    conducts: conducts.size > 0 ? conducts : undefined,
    ...(grants ? { grants } : {}),
    ...(fields['p'] ? { past: fields['p'] } : {}),
    ...(settled.size > 0 ? { settled } : {}),
  }
}

/** The fields of a quota's hash: the counters, and the others as pairs. */
export function hashOfState(state: QuotaState): { counters: string; fields: [string, string][] } {
  const { minute, minuteUsed, day, dayUsed, dayGivenBack, generation } = state
  const fields: [string, string][] = []
  for (const [key, { refusedAtMs, bannedUntilMs, bans, strikesMs }] of state.conducts ?? []) {
    const strikes = strikesMs.map((ms) => String(ms).padStart(strikeDigits, '0')).join('')
    fields.push([`k:${key}`, `${refusedAtMs},${bannedUntilMs},${bans},${strikes}`])
  }
  for (const [gateway, number] of state.settled ?? []) fields.push([`s:${gateway}`, String(number)])
  if (state.grants) {
    const { minute, day, perMinute, perDay, each } = state.grants
    fields.push(['g', [day, perDay, minute, perMinute].join()])
    fields.push(['n', each.map(grantLine).join('\n')])
  }
  if (state.past) fields.push(['p', state.past])
  return {
    counters: [minute, minuteUsed, day, dayUsed, dayGivenBack, generation].join(),
    fields,
  }
}

function grantLine({ day, perDay, minute, perMinute, by, note }: Grant): string {
  return `${day},${perDay},${minute},${perMinute},${JSON.stringify({ by, note })}`
}

/** The grants of a field n, the oldest first; damaged lines are left out. */
export function grantLines(text: string): Grant[] {
  return text.split('\n').flatMap((line) => {
    const [, day, perDay, minute, perMinute, words = ''] =
      /^(\d+),(\d+),(\d+),(\d+),(.*)$/.exec(line) ?? []
    if (day === undefined) return []
    try {
      const { by, note } = JSON.parse(words) as Pick<Grant, 'by' | 'note'>
      const points = { perDay: Number(perDay), perMinute: Number(perMinute) }
      return [{ day: Number(day), minute: Number(minute), ...points, by, note }]
    } catch {
      return []
    }
  })
}

function conductFrom(text: string): Conduct | undefined {
  const [, refusedAt, bannedUntil, bans, strikes = ''] =
    /^(\d+),(\d+),(\d+),(\d*)$/.exec(text) ?? []
  if (refusedAt === undefined) return undefined
  const strikesMs = (strikes.match(/\d{13}/g) ?? []).map(Number)
  const [refusedAtMs, bannedUntilMs] = [Number(refusedAt), Number(bannedUntil)]
  return { refusedAtMs, bannedUntilMs, bans: Number(bans), strikesMs }
}
