import { windows } from '../../../shared/windows.ts'
import { timeText } from '../../../shared/times.ts'

/** Words for members whose names say less. */
const words: Readonly<Record<string, string>> = {
  until: 'end of the plan',
  ...Object.fromEntries(
    windows.flatMap(({ limit, each }) => [
      [`limits.${limit}`, `limit ${each}`],
      [`cap.${limit}`, `cap ${each}`],
    ]),
  ),
  'limits.until': 'end of the limits',
  expiresAt: 'expiry',
  oldTokenUntil: 'end of the old token',
}

/** The changed members in a line, such as `plan free → pro, limit a minute none → 600`; of many things, without their old values. */
export function changesText(before: unknown, after: unknown, isOfMany = false): string {
  const [old, now] = [flat(before), flat(after)]
  return changedMembers(old, now)
    .map((name) => {
      const from = isOfMany ? '' : `${shown(old[name])} `
      return `${words[name] ?? name} ${from}→ ${shown(now[name])}`
    })
    .join(', ')
}

/** The names of the members that differ. */
export function changedMembers(before: unknown, after: unknown): string[] {
  const [old, now] = [membersOf(before), membersOf(after)]
  const names = new Set([...Object.keys(old), ...Object.keys(now)])
  return [...names].filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
}

export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Members of members by their paths. */
function flat(value: unknown): Record<string, unknown> {
  const members = Object.entries(membersOf(value)).flatMap(([name, member]) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.entries(flat(member)).map(([inner, each]) => [`${name}.${inner}`, each] as const)
      : [[name, member] as const],
  )
  return Object.fromEntries(members)
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'none'
  if (Array.isArray(value)) return value.map(shown).join(' ') || 'none'
  if (typeof value !== 'string') return JSON.stringify(value)
  const ms = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? Date.parse(value) : NaN
  return Number.isNaN(ms) ? value : timeText(ms)
}
