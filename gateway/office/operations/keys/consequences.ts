import { counted } from '../../../../shared/commas.ts'
import { endText } from '../../../../shared/times.ts'
import { windows } from '../../../../shared/windows.ts'
import type { KeyDesk } from '../../../front/keys/key-desk.ts'
import type { Key } from '../../../front/keys/key.ts'
import { hasLimits, type LimitSettings } from '../../../front/limits/limit-settings.ts'
import type { KeyDetails } from '../quota-desk.ts'
import { ownLimitsText, standingLimitsText, uselessLimits } from './limit-texts.ts'

const refusedSoon = 'Every gateway refuses it within a second, with 401.'

/** Sentences about the keys that share a quota with this one; none for a key without an account. */
export async function sharing({ id, account, test }: Key, keys: KeyDesk): Promise<string[]> {
  if (account === undefined) return []
  if (test) return [`As a test key of the account ${account} it has a quota of its own.`]
  const all = await keys.keysOf(account)
  const others = all.filter((key) => key.id !== id && sharesQuota(key)).length
  if (others < 1) return [`It is the only key of the account ${account} so far.`]
  return [`It shares one quota with ${counted(others, 'other key')} of the account ${account}.`]
}

function sharesQuota({ test, revokedAtMs }: Key): boolean {
  return !test && revokedAtMs === undefined
}

/** A warning of limits beside others': they are held against what all keys of the account have used. */
export function ofAccount({
  account,
  test,
  limits,
}: Readonly<{
  account?: string | undefined
  test?: boolean | undefined
  limits?: LimitSettings | undefined
}>): string[] {
  if (account === undefined || test || !limits || !hasLimits(limits)) return []
  const options = windows.filter(({ limit }) => limits[limit] !== undefined)
  const ofWindows = options.map(({ name }) => `--cap-per-${name}`)
  const caps = [...ofWindows, ...(limits.atOnce === undefined ? [] : ['--cap-at-once'])].join(', ')
  return [
    `Its own limits are held against what all keys of the account ${account} have used together; ${caps} would count for this key alone.`,
  ]
}

/** Sentences about the consequences of a change that its author didn't ask for. */
export function consequencesOf(before: KeyDetails, after: KeyDetails, nowMs: number): string[] {
  const { id, state, plan, account, bannedUntil, standing } = after
  // Nothing else about a revoked key matters.
  if (state === 'revoked') return state === before.state ? [] : [refusedSoon]
  const sentences: string[] = []
  if (before.account !== undefined && before.account !== account && !before.test) {
    sentences.push(`It no longer draws on the quota of the account ${before.account}.`)
  }
  const limits = standingLimitsText(standing)
  if (limits !== standingLimitsText(before.standing)) {
    sentences.push(`Its limits are now ${limits}.`, ...uselessLimits(standing))
  }
  if (before.scopes && !after.scopes) sentences.push('It has all scopes now.')
  const { monthFrom = 1 } = standing
  if (before.standing.quota === standing.quota && monthFrom !== (before.standing.monthFrom ?? 1)) {
    sentences.push(...movedMonths(monthFrom))
  }
  if (ownLimitsText(before.limits) !== ownLimitsText(after.limits)) {
    sentences.push(...ofAccount(after))
  }
  if (before.plan !== plan && after.limits) {
    sentences.push(
      `Its custom limits stay: ${ownLimitsText(after.limits)}. ${optionsText(after)} remove them.`,
    )
  }
  if (state === 'disabled' && state !== before.state) {
    sentences.push(refusedSoon)
  } else if (state === 'disabled') {
    sentences.push(`It is disabled; tollgate keys enable ${id} enables it again.`)
  }
  if (state === 'expired')
    sentences.push(`It has expired; tollgate keys change ${id} --expires DATE extends it.`)
  if (bannedUntil !== undefined) {
    const until = endText(Date.parse(bannedUntil), nowMs)
    sentences.push(`Its ban goes on until ${until}; tollgate bans lift ${id} ends it.`)
  }
  if (!standing.offered) {
    sentences.push(
      `The configuration has no limits for the plan ${plan}: the key is refused with 403.`,
    )
  }
  return sentences
}

export function monthsText(monthFrom: number): string {
  return `Its months begin on day ${monthFrom}, at midnight (UTC).`
}

/** Sentences about another day on which the months of a quota begin. */
export function movedMonths(monthFrom: number): string[] {
  return [monthsText(monthFrom), 'Nothing of the present month is used yet.']
}

/** The options that take a key's own limits away. */
function optionsText({ limits }: KeyDetails): string {
  const own = windows.filter(({ limit }) => limits?.[limit] !== undefined)
  const options = own.map(({ name }) => `--no-per-${name}`)
  return [...options, ...(limits?.atOnce === undefined ? [] : ['--no-at-once'])].join(' and ')
}
