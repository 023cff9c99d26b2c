import { readFileSync } from 'node:fs'
import { durationFrom } from '../config/units.ts'
import type { Key } from '../keys/key.ts'
import { KeyMistake } from '../keys/mistake.ts'
import { keyView, stateOf } from '../keys/view.ts'
import { required, text, UsageError } from './command.ts'
import type { Command, Context, Input, Output } from './command.ts'
import { keySettings, settingsFrom } from './key-settings.ts'
import { issued, shown } from './key-views.ts'
import { aligned, timeText } from './table.ts'

/** The commands with which operators hand out keys. */
export const keyCommands: readonly Command[] = [
  {
    name: 'keys create',
    changes: true,
    summary: 'Make a key and show its token, once',
    options: keySettings,
    run: async (context, input) => {
      const name = required(input, 'name')
      const plan = required(input, 'plan')
      const { key, token } = await context
        .desks()
        .keys.create({ ...settingsFrom(input), name, plan })
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
      shown(await context.desks().keys.show(id), context.clock()),
  },
  {
    name: 'keys change',
    changes: true,
    args: ['KEY_ID'],
    summary: 'Change what is given, and nothing else',
    details: 'A limit or expiry of its own is taken away with "plan" and "never".',
    options: keySettings,
    run: async (context, input) => {
      const changes = settingsFrom(input)
      if (Object.keys(changes).length === 0) throw new UsageError('nothing to change is given')
      return shown(await context.desks().keys.change(input.args[0] ?? '', changes), context.clock())
    },
  },
  {
    name: 'keys rotate',
    changes: true,
    args: ['KEY_ID'],
    summary: 'Give a key a new token; the old one goes on for a while',
    details:
      'At most two tokens of a key work at a time: one that was still going on from an earlier\n' +
      'rotation ends at once.',
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
      const { key, token } = await context.desks().keys.rotate(input.args[0] ?? '', overlapMs)
      const until = key.secrets[1]?.untilMs ?? 0
      const old = until > context.clock() ? `The old one works until ${timeText(until)}.` : ''
      return issued('Rotated', key, token, old || 'The old one works no longer.')
    },
  },
  {
    name: 'keys revoke',
    changes: true,
    args: ['KEY_ID'],
    summary: 'End a key for good',
    run: async (context, { args: [id = ''] }) =>
      shown(await context.desks().keys.revoke(id), context.clock()),
  },
  {
    name: 'keys disable',
    changes: true,
    args: ['KEY_ID'],
    summary: 'Refuse a key until it is enabled again',
    run: async (context, { args: [id = ''] }) =>
      shown(await context.desks().keys.setDisabled(id, true), context.clock()),
  },
  {
    name: 'keys enable',
    changes: true,
    args: ['KEY_ID'],
    summary: 'Let a disabled key in again',
    run: async (context, { args: [id = ''] }) =>
      shown(await context.desks().keys.setDisabled(id, false), context.clock()),
  },
  {
    name: 'keys import',
    changes: true,
    args: ['FILE'],
    summary: 'Add the keys of another system, all or none',
    details:
      'FILE is CSV with a line of column names, or JSON lines. Columns: token or sha256 (hex or\n' +
      'base64url), plan, and, as needed, name, account, perMinute, perDay, expires, note.',
    run: importFile,
  },
]

async function list(context: Context, input: Input): Promise<Output> {
  const [plan, account] = [text(input, 'plan'), text(input, 'account')]
  const now = context.clock()
  const found: Key[] = []
  for await (const key of context.desks().keys.list()) {
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
    json: found.map((key) => keyView(key, now)),
  }
}

async function importFile(context: Context, { args: [file = ''] }: Input): Promise<Output> {
  const { desks, progress } = context
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (error) {
    throw new KeyMistake(
      `the file can't be read: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
  let draw: ((done: number) => void) | undefined
  const imported = await desks().keys.import(content, (done, total) => {
    draw ??= progress('keys', total)
    draw(done)
  })
  return { text: `${imported.toLocaleString('en')} keys imported.`, json: { imported } }
}
