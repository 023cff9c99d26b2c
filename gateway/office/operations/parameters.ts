import { rememberedDays } from '../../front/counts/tally-store.ts'
import { anyText, dayCount, lineCount, yesOrNo, type Kind } from './kinds.ts'

/** The key that an operation works on. */
export const oneKey = { isKey: true, isRequired: true } as const

/** A value of a kind; help calls it by the word `value`. */
export function valueOf<Each, const Value extends string>(
  kind: Kind<Each>,
  value: Value,
  help: string,
) {
  return { kind, value, help } as const
}

/** A text. */
export function textOf<const Value extends string>(value: Value, help: string) {
  return valueOf(anyText, value, help)
}

/** Of a value that stands in a command by itself, without the name of an option, and may not be left out. */
export const argument = { isArgument: true, isRequired: true } as const

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
  ...valueOf(dayCount, 'N', 'how many days back, today included'),
  defaultText: String(rememberedDays),
} as const

/** The most lines of a list. */
export function newest(what: string) {
  return {
    ...valueOf(lineCount, 'N', `how many ${what}, newest first`),
    defaultText: '100',
  } as const
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
