import type { KeyDesk } from '../keys/desk.ts'
import type { Key } from '../keys/key.ts'
import type { KeyDetails, QuotaView } from '../limits/desk.ts'
import { endText } from './table.ts'

const refusedSoon = 'Every gateway refuses it within a second, with 401.'

/** Whom a key shares its quota with, if it is of an account. */
export async function sharing({ account }: Key, keys: KeyDesk): Promise<string[]> {
  if (account === undefined) return []
  const others = (await keys.countOf(account)) - 1
  if (others < 1) return [`It is the only key of the account ${account} so far.`]
  const many = others === 1 ? '1 other key' : `${others} other keys`
  return [`It shares one quota with ${many} of the account ${account}.`]
}

/** What a change of a key leads to, as far as it isn't what was asked for. */
export function consequencesOf(before: KeyDetails, after: KeyDetails): string[] {
  const { id, state, plan, account, bannedUntil, standing } = after
  // Whatever else is true of it, it is over.
  if (state === 'revoked') return state === before.state ? [] : [refusedSoon]
  const told: string[] = []
  if (before.account !== undefined && before.account !== account) {
    told.push(`It no longer draws on the quota of the account ${before.account}.`)
  }
  const limits = limitsText(standing)
  if (limits !== limitsText(before.standing)) {
    told.push(`Its limits are now ${limits}.`, ...uselessMinute(standing))
  }
  if (before.plan !== plan && after.limits) {
    told.push(`What it has of its own stays: ${ownText(after)} (--no-per-minute, --no-per-day).`)
  }
  if (state === 'disabled' && state !== before.state) {
    told.push(refusedSoon)
  } else if (state === 'disabled') {
    told.push(`It is disabled; tollgate keys enable ${id} lets it in again.`)
  }
  if (state === 'expired') told.push(`It has expired: keys change ${id} --expires DATE.`)
  if (bannedUntil !== undefined) {
    const until = endText(Date.parse(bannedUntil))
    told.push(`Its ban goes on until ${until}; tollgate bans lift ${id} ends it.`)
  }
  if (!standing.offered) {
    told.push(`The configuration has no limits for the plan ${plan}: the key is refused with 403.`)
  }
  return told
}

/** A minute that allows more than the day never matters; the configuration warns of such plans as well. */
export function uselessMinute({ minute, day }: Pick<QuotaView, 'minute' | 'day'>): string[] {
  if (!day || (minute?.limit ?? Infinity) <= day.limit) return []
  return [
    `Its limit of a minute (${minute?.limit ?? 'unlimited'}) is never reached: its day has ${day.limit}.`,
  ]
}

function limitsText({ minute, day }: Pick<QuotaView, 'minute' | 'day'>): string {
  return `${minute?.limit ?? 'unlimited'} a minute and ${day?.limit ?? 'unlimited'} a day`
}

function ownText({ limits }: KeyDetails): string {
  const { perMinute, perDay } = limits ?? {}
  return [
    ...(perMinute === undefined ? [] : [`${perMinute} a minute`]),
    ...(perDay === undefined ? [] : [`${perDay} a day`]),
  ].join(', ')
}
