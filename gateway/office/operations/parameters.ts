import type { Clock } from '../../../shared/clock.ts'
import { latestDays } from '../../front/counts/usage.ts'
import { rememberedDays } from '../../front/counts/tally-store.ts'
import { anyText, dayCount, yesOrNo } from './kinds.ts'

/** The key that an operation works on. */
export const oneKey = { isKey: true, isRequired: true } as const

/** A text; help calls it by the word `value`. */
export function textOf<const Value extends string>(value: Value, help: string) {
  return { kind: anyText, value, help } as const
}

/** A switch. */
export function aSwitch(help: string) {
  return { kind: yesOrNo, help } as const
}

/** The parameters of an operation on one key, or on all keys of an account. */
export const dryRun = {
  ...aSwitch('show what would happen, and change nothing'),
  isOfMany: true,
} as const
export const oneOrMany = {
  key: { isKey: true },
  account: {
    ...textOf('ACCOUNT', 'instead of a KEY: all keys of this account'),
    isOfMany: true,
    namesMany: true,
  },
  dryRun,
} as const

/** The number of days that a report covers, today included. */
export const days = {
  kind: dayCount,
  value: 'N',
  help: 'how many days back, today included',
  defaultText: String(rememberedDays),
} as const

/** The first and the last day of a report, counted from 1970 in UTC. */
export function dayRange(count: number, clock: Clock): { fromDay: number; toDay: number } {
  return latestDays(count, clock())
}

/** The media types of a configuration in a body; JSON is YAML, too. */
export const configTypes = [
  'application/yaml',
  'text/yaml',
  'text/plain',
  'application/json',
] as const

/** A configuration file to read in place of that of `--config`. */
export const configFile = { isConfig: true, types: [] } as const
