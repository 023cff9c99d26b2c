import { withMore } from '../../../shared/and-more.ts'
import { withCommas } from '../../../shared/commas.ts'
import { windows } from '../../../shared/windows.ts'
import { timeText } from '../../../shared/times.ts'
import { changedMembers, membersOf } from '../../front/records/changed-members.ts'

/** Words for members whose names say less. */
const words: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    windows.flatMap(({ limit, each }) => [
      [`limits.${limit}`, `limit ${each}`],
      [`cap.${limit}`, `cap ${each}`],
    ]),
  ),
  expiresAt: 'expiry',
  oldTokenUntil: 'end of the old token',
}

type Way = Readonly<{
  /** The most members that are told. */
  most?: number
  /** Whether they are of many things, whose old values differ. */
  isOfMany?: boolean
}>

/** The changed members in a line, such as `plan free → pro, limit a minute none → 600`: at most so many, and how many more. */
export function changesText(
  before: unknown,
  after: unknown,
  { most = Infinity, isOfMany = false }: Way = {},
): string {
  const changes = [...changesIn(before, after)].map(([place, old, now]) => {
    const from = isOfMany ? '' : `${shown(old)} `
    return `${words[place] ?? place} ${from}→ ${shown(now)}`
  })
  return withMore(changes.slice(0, most), Math.max(0, changes.length - most)).join(', ')
}

/** What differs, by its path: of a section that was added or taken away, each member. */
function* changesIn(
  before: unknown,
  after: unknown,
  path = '',
): Generator<readonly [path: string, before: unknown, after: unknown]> {
  const [old, now] = [membersOf(before), membersOf(after)]
  for (const name of changedMembers(old, now)) {
    const sides = [old[name] ?? now[name], now[name] ?? old[name]]
    if (sides.every(isSection)) yield* changesIn(old[name], now[name], `${path}${name}.`)
    else yield [`${path}${name}`, old[name], now[name]]
  }
}

function isSection(value: unknown): boolean {
  return typeof value === 'object' && !Array.isArray(value)
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'none'
  if (Array.isArray(value)) return value.map(shown).join(' ') || 'none'
  if (typeof value === 'number') return withCommas(value)
  if (typeof value === 'object') {
    return `{ ${Object.entries(value)
      .map(([name, member]) => `${name}: ${shown(member)}`)
      .join(', ')} }`
  }
  if (typeof value !== 'string') return JSON.stringify(value)
  const ms = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? Date.parse(value) : NaN
  return Number.isNaN(ms) ? value : timeText(ms)
}
