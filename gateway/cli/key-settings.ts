import { instantFrom } from '../config/units.ts'
import type { KeySettings } from '../keys/settings.ts'
import { text, texts, UsageError, type Input, type Option } from './command.ts'

/** The options that say what a key is like. */
export const keySettings: Readonly<Record<string, Option>> = {
  plan: { value: 'PLAN', help: 'a plan of the configuration' },
  name: { value: 'TEXT', help: 'whose key it is, for people' },
  account: { value: 'ACCOUNT', help: 'keys of one account share one quota' },
  'per-minute': { value: 'N', help: "limit in place of the plan's: a number or unlimited" },
  'per-day': { value: 'N', help: "limit in place of the plan's: a number or unlimited" },
  expires: { value: 'DATE', help: 'such as 2030-12-31 (00:00 UTC) or 2030-12-31T18:00:00Z' },
  method: { value: 'METHOD', help: 'allow this method only (may be repeated)', many: true },
  path: {
    value: 'PATTERN',
    help: 'allow this path only; /v1/pets/* is all below /v1/pets/ (may be repeated)',
    many: true,
  },
  address: {
    value: 'RANGE',
    help: 'allow this address or CIDR range only (may be repeated)',
    many: true,
  },
  note: { value: 'TEXT', help: 'anything worth knowing' },
}

/** What of a key's settings is given on the command line. */
export function settingsFrom(input: Input): Partial<KeySettings> {
  const expires = text(input, 'expires')
  const limits = {
    ...limitFrom('perMinute', 'per-minute', input),
    ...limitFrom('perDay', 'per-day', input),
  }
  const given = {
    name: text(input, 'name'),
    plan: text(input, 'plan'),
    account: text(input, 'account'),
    note: text(input, 'note'),
    methods: texts(input, 'method')?.map((method) => method.toUpperCase()),
    paths: texts(input, 'path'),
    addresses: texts(input, 'address'),
  }
  return {
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    ...(expires === undefined ? {} : { expiresAtMs: expiryFrom(expires) }),
  }
}

function limitFrom(
  member: string,
  option: string,
  input: Input,
): Record<string, number | 'unlimited' | undefined> {
  const given = text(input, option)
  if (given === undefined) return {}
  if (given === 'unlimited') return { [member]: given }
  if (given === 'plan') return { [member]: undefined }
  if (/^[1-9]\d{0,14}$/.test(given)) return { [member]: Number(given) }
  throw new UsageError(`--${option} must be a whole number above 0 or unlimited, got "${given}"`)
}

function expiryFrom(date: string): number | undefined {
  if (date === 'never') return undefined
  const ms = instantFrom(date)
  if (ms !== undefined) return ms
  throw new UsageError(
    `--expires must be a day such as 2030-12-31, or a time with its zone, got "${date}"`,
  )
}
