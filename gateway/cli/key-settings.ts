import { settingsFrom, type KeyChange } from '../keys/changes.ts'
import type { KeySettings } from '../keys/settings.ts'
import { limit, moment, type Kind } from '../operations/values.ts'
import { text, texts, UsageError, valueOf, type Input, type Option } from './command.ts'

/** `null` is the plan's limit, or no end at all. */
const ownLimit: Kind<number | 'unlimited' | null> = {
  mayBe: `${limit.mayBe}, or plan for the plan's`,
  read: (text) => (text === 'plan' ? null : limit.read(text)),
}
const expiry: Kind<number | null> = {
  mayBe: `${moment.mayBe}, or never`,
  read: (text) => (text === 'never' ? null : moment.read(text)),
}

/** The options that say what a new key is like. */
export const newKeyOptions: Readonly<Record<string, Option>> = {
  plan: { value: 'PLAN', help: 'a plan of the configuration' },
  name: { value: 'TEXT', help: 'whose key it is, for people' },
  account: { value: 'ACCOUNT', help: 'keys of one account share one quota' },
  'per-minute': { value: 'N', help: "a limit in place of the plan's", kind: ownLimit },
  'per-day': { value: 'N', help: "a limit in place of the plan's", kind: ownLimit },
  expires: { value: 'DATE', help: 'when it ends; a day begins at 00:00 UTC', kind: expiry },
  method: { value: 'METHOD', help: 'allow this method only', many: true },
  path: {
    value: 'PATTERN',
    help: 'allow this path only; /v1/pets/* is all below /v1/pets/',
    many: true,
  },
  address: { value: 'RANGE', help: 'allow this address or CIDR range only', many: true },
  note: { value: 'TEXT', help: 'anything worth knowing' },
}

/** The options that say how a key is to change. */
export const keyChangeOptions: Readonly<Record<string, Option>> = {
  ...newKeyOptions,
  'no-account': { help: 'take it out of its account: it has a quota of its own again' },
  'no-per-minute': { help: "the plan's limit again" },
  'no-per-day': { help: "the plan's limit again" },
  'no-expires': { help: 'it does not end by itself' },
  'no-method': { help: 'all methods again' },
  'no-path': { help: 'all paths again' },
  'no-address': { help: 'all addresses again' },
  'no-note': { help: 'take its note away' },
}

/** What somebody may write who wants no restriction. */
const anyMethod = new Set(['ANY', 'ALL', 'NONE', '*', ''])

/** What of a key's settings is given on the command line. */
export function keySettingsFrom(input: Input): Partial<KeySettings> {
  const has = (name: string): boolean => input.values[`no-${name}`] === true
  const own = <Value>(name: string, value: Value | undefined): Value | null | undefined =>
    has(name) ? null : value
  const methods = texts(input, 'method')?.map((method) => method.toUpperCase())
  if (methods?.some((method) => anyMethod.has(method))) {
    throw new UsageError('--method names one method; without it, or with --no-method, all may ask')
  }
  const expires = own('expires', valueOf(input, 'expires', expiry))
  const limits = given({
    perMinute: own('per-minute', valueOf(input, 'per-minute', ownLimit)),
    perDay: own('per-day', valueOf(input, 'per-day', ownLimit)),
  })
  const change: KeyChange = given({
    name: text(input, 'name'),
    plan: text(input, 'plan'),
    account: own('account', text(input, 'account')),
    note: own('note', text(input, 'note')),
    methods: own('method', methods),
    paths: own('path', texts(input, 'path')?.slice()),
    addresses: own('address', texts(input, 'address')?.slice()),
    limits: Object.keys(limits).length > 0 ? limits : undefined,
    expiresAt: typeof expires === 'number' ? new Date(expires).toISOString() : expires,
  })
  return settingsFrom(change)
}

type Given<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> }

/** The members that say something. */
function given<Members extends object>(members: Members): Given<Members> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Given<Members>
}
