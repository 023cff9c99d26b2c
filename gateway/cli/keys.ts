import { readFileSync } from 'node:fs'
import { durationFrom } from '../config/units.ts'
import { KeyDesk, stateOf } from '../keys/desk.ts'
import { importKeys } from '../keys/import.ts'
import type { Key } from '../keys/key.ts'
import { KeyMistake } from '../keys/mistake.ts'
import type { KeySettings } from '../keys/settings.ts'
import { required, text, texts, UsageError } from './command.ts'
import type { Command, Context, Input, Option, Output } from './command.ts'
import { aligned, timeText } from './table.ts'

const settings: Readonly<Record<string, Option>> = {
  plan: { value: 'PLAN', help: 'a plan of the configuration' },
  name: { value: 'TEXT', help: 'whose key it is, for people' },
  account: { value: 'ACCOUNT', help: 'keys of one account share one quota' },
  'per-minute': { value: 'N', help: "limit in place of the plan's: a number or unlimited" },
  'per-day': { value: 'N', help: "limit in place of the plan's: a number or unlimited" },
  expires: { value: 'DATE', help: 'such as 2030-12-31 (00:00 UTC) or 2030-12-31T18:00:00Z' },
  method: { value: 'METHOD', help: 'allow this method only (may be repeated)', many: true },
  path: {
    value: 'PATTERN',
    help: 'allow this path only, such as /v1/pets/* (may be repeated)',
    many: true,
  },
  address: {
    value: 'RANGE',
    help: 'allow this address or CIDR range only (may be repeated)',
    many: true,
  },
  note: { value: 'TEXT', help: 'anything worth knowing' },
}

/** The commands with which operators hand out keys. */
export const keyCommands: readonly Command[] = [
  {
    name: 'keys create',
    summary: 'Make a key and show its token, once',
    options: settings,
    run: async (context, input) => {
      const name = required(input, 'name')
      const plan = required(input, 'plan')
      const { key, token } = await desk(context).create({ ...settingsFrom(input), name, plan })
      return issued('Made', key, token)
    },
  },
  {
    name: 'keys list',
    summary: 'List keys; revoked ones only with --all',
    options: {
      plan: { value: 'PLAN', help: 'only keys of this plan' },
      account: { value: 'ACCOUNT', help: 'only keys of this account' },
      all: { help: 'revoked keys too' },
    },
    run: list,
  },
  {
    name: 'keys show',
    args: ['KEY_ID'],
    summary: 'Show one key',
    run: async (context, { args: [id = ''] }) =>
      shown(await desk(context).show(id), context.clock()),
  },
  {
    name: 'keys change',
    args: ['KEY_ID'],
    summary: 'Change what is given, and nothing else',
    details: 'A limit or expiry of its own is taken away with "plan" and "never".',
    options: settings,
    run: async (context, input) => {
      const changes = settingsFrom(input)
      if (Object.keys(changes).length === 0) throw new UsageError('nothing to change is given')
      return shown(await desk(context).change(input.args[0] ?? '', changes), context.clock())
    },
  },
  {
    name: 'keys rotate',
    args: ['KEY_ID'],
    summary: 'Give a key a new token; the old one goes on for a while',
    options: {
      overlap: {
        value: 'DURATION',
        help: 'how long the old token goes on: 24h unless told; 0: not at all',
      },
    },
    run: async (context, input) => {
      const overlap = text(input, 'overlap') ?? '24h'
      const overlapMs = overlap === '0' ? 0 : durationFrom(overlap)
      if (overlapMs === undefined)
        throw new UsageError(`--overlap must be 0 or a duration such as 24h, got "${overlap}"`)
      const { key, token } = await desk(context).rotate(input.args[0] ?? '', overlapMs)
      return issued('Rotated', key, token)
    },
  },
  {
    name: 'keys revoke',
    args: ['KEY_ID'],
    summary: 'End a key for good',
    run: async (context, { args: [id = ''] }) =>
      shown(await desk(context).revoke(id), context.clock()),
  },
  {
    name: 'keys disable',
    args: ['KEY_ID'],
    summary: 'Refuse a key until it is enabled again',
    run: async (context, { args: [id = ''] }) =>
      shown(await desk(context).setDisabled(id, true), context.clock()),
  },
  {
    name: 'keys enable',
    args: ['KEY_ID'],
    summary: 'Let a disabled key in again',
    run: async (context, { args: [id = ''] }) =>
      shown(await desk(context).setDisabled(id, false), context.clock()),
  },
  {
    name: 'keys import',
    args: ['FILE'],
    summary: 'Add the keys of another system, all or none',
    details:
      'FILE is CSV with a line of column names, or JSON lines. Columns: token or sha256 (hex or\n' +
      'base64url), plan, and, as needed, name, account, perMinute, perDay, expires, note.',
    run: importFile,
  },
]

function desk({ stores, config, clock }: Context): KeyDesk {
  return new KeyDesk({ store: stores().keys, plans: config.plans, clock })
}

async function list(context: Context, input: Input): Promise<Output> {
  const [plan, account] = [text(input, 'plan'), text(input, 'account')]
  const now = context.clock()
  const found: Key[] = []
  for await (const key of desk(context).list()) {
    const wanted = (plan ?? key.plan) === key.plan && (account ?? key.account) === key.account
    if (wanted && (input.values['all'] || key.revokedAtMs === undefined)) found.push(key)
  }
  found.sort((a, b) => a.createdAtMs - b.createdAtMs || a.id.localeCompare(b.id))
  const rows = found.map((key) => [
    key.id,
    key.name,
    key.plan,
    key.account ?? '',
    stateOf(key, now),
    timeText(key.createdAtMs),
  ])
  const heads = ['ID', 'NAME', 'PLAN', 'ACCOUNT', 'STATE', 'CREATED']
  const none = 'There are no keys yet. Make one: tollgate keys create --plan PLAN --name NAME'
  return {
    text: rows.length > 0 ? aligned([heads, ...rows]) : none,
    json: found.map((key) => publicView(key, now)),
  }
}

async function importFile(context: Context, { args: [file = ''] }: Input): Promise<Output> {
  const { stores, config, clock, progress } = context
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (error) {
    throw new KeyMistake(
      `the file can't be read: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
  let draw: ((done: number) => void) | undefined
  const options = { store: stores().keys, plans: config.plans, clock }
  const imported = await importKeys(content, options, (done, total) => {
    draw ??= progress('keys', total)
    draw(done)
  })
  return { text: `${imported.toLocaleString('en')} keys imported.`, json: { imported } }
}

/** What of a key's settings is given on the command line. */
function settingsFrom(input: Input): Partial<KeySettings> {
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
  const isDate = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.test(
    date,
  )
  const ms = isDate ? Date.parse(date) : NaN
  if (!Number.isNaN(ms)) return ms
  throw new UsageError(
    `--expires must be a day such as 2030-12-31, or a time with its zone, got "${date}"`,
  )
}

function issued(done: string, key: Key, token: string): Output {
  return {
    text:
      `${done} the key ${key.id} (${key.name}, plan ${key.plan}). Its token is shown this once:\n\n` +
      `  ${token}`,
    json: { id: key.id, key: token, plan: key.plan },
  }
}

function shown(key: Key, now: number): Output {
  const view = publicView(key, now)
  const rows = Object.entries(view)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [`${name}:`, typeof value === 'string' ? value : JSON.stringify(value)])
  return { text: aligned(rows), json: view }
}

/** A key without its secrets, times as texts. */
function publicView(key: Key, now: number): Record<string, unknown> {
  const time = (ms: number | undefined): string | undefined =>
    ms === undefined ? undefined : new Date(ms).toISOString()
  const { id, name, plan, account, limits, methods, paths, addresses, note, secrets } = key
  return {
    id,
    name,
    plan,
    state: stateOf(key, now),
    account,
    limits: limits && Object.keys(limits).length > 0 ? limits : undefined,
    createdAt: time(key.createdAtMs),
    expiresAt: time(key.expiresAtMs),
    revokedAt: time(key.revokedAtMs),
    methods,
    paths,
    addresses,
    note,
    oldTokenUntil: time(secrets.find(({ untilMs = 0 }) => untilMs > now)?.untilMs),
  }
}
