import { printable } from '../../shared/printable.ts'
import type { Key } from '../keys/key.ts'
import type { KeyDetails, QuotaView } from '../limits/desk.ts'
import type { Output } from './command.ts'
import { aligned, endText, timeText } from './table.ts'

/** A new token, the one time that it is shown. */
export function issued(
  done: string,
  key: Key,
  token: string,
  more: readonly string[] = [],
): Output {
  const after = more.length > 0 ? `\n\n${more.map(printable).join('\n')}` : ''
  return {
    text:
      `${done} the key ${key.id} (${printable(key.name)}, plan ${key.plan}). Its token is shown this once:\n\n` +
      `  ${token}${after}`,
    json: { id: key.id, key: token, plan: key.plan },
  }
}

/** One key, a line for each thing that is known of it; before it what a change of it leads to. */
export function shown(details: KeyDetails, consequences: readonly string[] = []): Output {
  const { plan, account, limits, standing, bannedUntil } = details
  const { quota, minute, day, strikes } = standing
  const ofWhom = (own: unknown) => (own === undefined ? `plan ${plan}` : 'its own limit')
  const rows = {
    ...details,
    state: stateText(details),
    why: bannedUntil === undefined ? undefined : banText(standing),
    strikes: strikes > 0 ? strikes : undefined,
    minute: windowText(minute, ofWhom(limits?.perMinute), standing.offered),
    day: windowText(day, ofWhom(limits?.perDay), standing.offered),
    quota: quota.startsWith('account:') ? `shared by all keys of ${account}` : undefined,
    // These are told above.
    ...{ limits: undefined, bannedUntil: undefined, standing: undefined },
  }
  const lines = Object.entries(rows)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [`${name}:`, valueText(value)])
  const before = consequences.length > 0 ? `${consequences.map(printable).join('\n')}\n\n` : ''
  return { text: before + aligned(lines), json: details }
}

/** What a key is good for, as a sentence that a ban or a missing plan can't hide behind. */
export function stateText({ state, plan, bannedUntil, standing }: KeyDetails): string {
  const parts = [
    state === 'active' && bannedUntil !== undefined ? undefined : state,
    bannedUntil === undefined ? undefined : `banned until ${endText(Date.parse(bannedUntil))}`,
    standing.offered ? undefined : `refused: the configuration has no limits for the plan ${plan}`,
  ]
  return parts.filter((part) => part !== undefined).join('; ')
}

/** Why a key is banned, as far as the audit knows. */
export function banText({ ban }: Pick<QuotaView, 'ban'>): string {
  if (!ban) return 'the audit does not know'
  const since = `since ${timeText(Date.parse(ban.since))}`
  return ban.strikes === undefined
    ? `${ban.by} has banned it, ${since}`
    : `it went on after it was refused (${ban.strikes} strikes), ${since}`
}

type Window = QuotaView['minute']

function windowText(window: Window, origin: string, isOffered: boolean): string | undefined {
  if (!isOffered) return undefined
  if (!window) return `unlimited (${origin})`
  const { limit, used, reset } = window
  return `${used} of ${limit} used (${origin}), until ${endText(reset * 1_000)}`
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
