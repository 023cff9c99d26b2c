import { withCommas } from '../../../../shared/commas.ts'
import { printable } from '../../../../shared/printable.ts'
import { endText, timeText } from '../../../../shared/times.ts'
import { spanText } from '../../../../shared/units.ts'
import { earnedText } from '../../../front/limits/ban-ends.ts'
import type { Key } from '../../../front/keys/key.ts'
import { byWindow, dayMs, type Window } from '../../../../shared/windows.ts'
import type { BanCause } from '../key-standing.ts'
import type { UsedWindow } from '../key-standing.ts'
import { boundInWords } from './limit-texts.ts'
import type { KeyDetails, QuotaView } from '../quota-desk.ts'
import { aligned } from '../table.ts'

/** The text with a new token, which is shown this one time only. */
export function issuedText(
  verb: string,
  key: Key,
  token: string,
  more: readonly string[] = [],
): string {
  const after = more.length > 0 ? `\n\n${more.map(printable).join('\n')}` : ''
  const forTests = key.test ? ', for tests' : ''
  const whose = `${key.id} (${printable(key.name)}, plan ${key.plan}${forTests})`
  return `${verb} the key ${whose}. Copy its token now and share it securely; it isn’t shown again:\n\n  ${token}${after}`
}

/** How a token ends at once: without the option it would work for another day. */
export function endedBy({ id }: Pick<Key, 'id'>): string {
  return `tollgate keys rotate ${id} --overlap 0 ends it at once`
}

/** The end of a key, in a sentence. A day alone means its beginning, which people may not have meant. */
export function expiryText({ expiresAtMs }: Pick<Key, 'expiresAtMs'>): string[] {
  if (expiresAtMs === undefined) return []
  const asItBegins = expiresAtMs % dayMs === 0 ? ', as that day begins' : ''
  return [`It ends at ${endText(expiresAtMs)}${asItBegins}.`]
}

/** Advice about a token that was given on a command line. */
export function tokenWarning(key: Pick<Key, 'id'>): string {
  return (
    `a token is a secret, and this one is now in the history of your shell: if others can read that, ` +
    `${endedBy(key)}. Name the key by its id, ${key.id}`
  )
}

/** Everything about one key at a time, a line each; before it the consequences of a change. */
export function keyText(
  details: KeyDetails,
  nowMs: number,
  consequences: readonly string[] = [],
): string {
  const { plan, account, test, limits, standing, bannedUntil, lastUsedAt, oldToken } = details
  const { expiresAt, revokedAt, oldTokenUntil } = details
  const { quota, strikes, monthFrom } = standing
  const windowRow = ({ name, limit }: Window): string | undefined => {
    const window = standing[name]
    if (!standing.offered || window === undefined) return undefined
    const origin = limits?.[limit] === undefined ? `plan ${plan}` : 'its own limit'
    const granted = standing.grants.reduce((sum, grant) => sum + (grant[limit] ?? 0), 0)
    return windowText(window, origin, granted, nowMs)
  }
  const rows = {
    ...details,
    state: stateText(details, nowMs),
    why: bannedUntil === undefined ? undefined : banText(standing),
    test: test && 'lets its owner simulate refusals with X-Gateway-Act; its quota is its own',
    strikes: strikes > 0 ? strikes : undefined,
    ...byWindow(windowRow),
    months: monthFrom && `begin on day ${monthFrom}`,
    createdAt: timeText(Date.parse(details.createdAt)),
    expiresAt: expiresAt && endText(Date.parse(expiresAt), nowMs),
    revokedAt: revokedAt && timeText(Date.parse(revokedAt)),
    oldTokenUntil: oldTokenUntil && endText(Date.parse(oldTokenUntil), nowMs),
    lastUsedAt:
      lastUsedAt === null ? 'no use is known' : lastUsedAt && timeText(Date.parse(lastUsedAt)),
    oldToken: oldToken && oldTokenText(oldToken, nowMs),
    quota: quota.startsWith('account:') ? `shared by all keys of ${account}` : undefined,
    // Other rows show these.
    limits: undefined,
    bannedUntil: undefined,
    standing: undefined,
  }
  const lines = Object.entries(rows)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [`${name}:`, valueText(value)])
  const before = consequences.length > 0 ? `${consequences.map(printable).join('\n')}\n\n` : ''
  return before + aligned(lines)
}

type OldToken = NonNullable<KeyDetails['oldToken']>

function oldTokenText({ lastUsedAt }: OldToken, nowMs: number): string {
  const usedMs = lastUsedAt === null ? undefined : Date.parse(lastUsedAt)
  return usedText(usedMs, nowMs)
}

/** When a token was used last. */
export function usedText(usedMs: number | undefined, nowMs: number): string {
  if (usedMs === undefined) return 'was not used yet, as far as is known'
  return `was last used ${spanText(nowMs - usedMs)} ago`
}

/** The state of a key, together with a running ban and a missing plan. */
export function stateText(
  { state, plan, bannedUntil, standing }: KeyDetails,
  nowMs: number,
): string {
  const parts = [
    state === 'active' && bannedUntil !== undefined ? undefined : state,
    bannedUntil === undefined
      ? undefined
      : `banned until ${endText(Date.parse(bannedUntil), nowMs)}`,
    standing.offered ? undefined : `refused: the configuration has no limits for the plan ${plan}`,
  ]
  return parts.filter((part) => part !== undefined).join('; ')
}

/** The cause of a key's ban, from the audit, and its beginning. */
export function banText({ ban }: Pick<QuotaView, 'ban'>): string {
  if (!ban) return 'the audit doesn’t say'
  return `${causeText(ban)}, since ${timeText(Date.parse(ban.since))}`
}

/** The cause of a ban, in words that follow a colon. */
export function causeText({ by, strikes, note }: BanCause): string {
  if (strikes !== undefined) return earnedText(strikes)
  return `${by} has banned it${note === undefined ? '' : ` (${note})`}`
}

function windowText(
  window: UsedWindow | null,
  origin: string,
  granted: number,
  nowMs: number,
): string {
  if (!window) return `unlimited (${origin})`
  const { limit, used, reset, included, prepaid } = window
  const until = `until ${endText(reset * 1_000, nowMs)}`
  if (included !== undefined) {
    const left = prepaid ? `: ${withCommas(prepaid.left)} bought points left` : ''
    return `${withCommas(used)} of ${boundInWords(window)} (${origin})${left}, ${until}`
  }
  if (limit === null) return `unlimited (${origin})`
  const parts =
    granted > 0 ? `: ${withCommas(limit - granted)} + ${withCommas(granted)} granted` : ''
  return `${withCommas(used)} of ${withCommas(limit)} used (${origin}${parts}), ${until}`
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
