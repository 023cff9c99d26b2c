import { readFileSync } from 'node:fs'
import type { Key } from '../keys/key.ts'
import { KeyMistake } from '../keys/mistake.ts'
import { overlapTime } from '../operations/values.ts'
import { keyOf, required, UsageError, valueOf } from './command.ts'
import type { Command, Context, Input, Output } from './command.ts'
import { consequencesOf, sharing, uselessMinute } from './consequences.ts'
import { listKeys } from './key-list.ts'
import { keyChangeOptions, keySettingsFrom, newKeyOptions } from './key-settings.ts'
import { issued, shown } from './key-views.ts'
import { endText } from './table.ts'

/** The commands with which operators hand out keys. */
export const keyCommands: readonly Command[] = [
  {
    name: 'keys create',
    changes: true,
    summary: 'Make a key and show its token, once',
    options: newKeyOptions,
    run: async (context, input) => {
      const name = required(input, 'name')
      const plan = required(input, 'plan')
      const { keys, quotas } = context.desks()
      const { key, token } = await keys.create({ ...keySettingsFrom(input), name, plan })
      const { standing } = await quotas.describe(key)
      return issued('Made', key, token, [...(await sharing(key, keys)), ...uselessMinute(standing)])
    },
  },
  {
    name: 'keys list',
    summary: 'List keys; revoked ones only with --all',
    options: {
      name: { value: 'TEXT', help: 'only keys with this in their names' },
      plan: { value: 'PLAN', help: 'only keys of this plan' },
      account: { value: 'ACCOUNT', help: 'only keys of this account' },
      all: { help: 'revoked keys too' },
    },
    run: listKeys,
  },
  {
    name: 'keys show',
    args: ['KEY'],
    summary: 'Show one key, and where it stands with limits and bans',
    run: async (context, input) => {
      const key = await keyOf(context, input)
      return shown(await context.desks().quotas.describe(key))
    },
  },
  {
    name: 'keys change',
    changes: true,
    args: ['KEY'],
    summary: 'Change what is given, and nothing else',
    options: keyChangeOptions,
    run: async (context, input) => {
      const changes = keySettingsFrom(input)
      if (Object.keys(changes).length === 0) throw new UsageError('nothing to change is given')
      return edited(context, await keyOf(context, input), ({ id }) =>
        context.desks().keys.change(id, changes),
      )
    },
  },
  {
    name: 'keys rotate',
    changes: true,
    args: ['KEY'],
    summary: 'Give a key a new token; the old one goes on for a while',
    details:
      'At most two tokens of a key work at a time: one that was still going on from an earlier ' +
      'rotation ends at once.',
    options: {
      overlap: {
        value: 'DURATION',
        help: 'how long the old token goes on (0: not at all)',
        kind: overlapTime,
        unlessTold: '24h',
      },
    },
    run: rotate,
  },
  {
    name: 'keys revoke',
    changes: true,
    args: ['KEY'],
    summary: 'End a key for good; on a terminal it asks first',
    options: { yes: { help: 'do not ask' } },
    run: async (context, input) => {
      const key = await keyOf(context, input)
      const { id, name, plan, revokedAtMs } = key
      const question = `End the key ${id} (${name}, plan ${plan}) for good?`
      const isSure = revokedAtMs !== undefined || input.values['yes'] === true
      if (!isSure && !(await context.confirm(question))) throw new KeyMistake('nothing was changed')
      return edited(context, key, () => context.desks().keys.revoke(id))
    },
  },
  {
    name: 'keys disable',
    changes: true,
    args: ['KEY'],
    summary: 'Refuse a key until it is enabled again',
    run: async (context, input) =>
      edited(context, await keyOf(context, input), ({ id }) =>
        context.desks().keys.setDisabled(id, true),
      ),
  },
  {
    name: 'keys enable',
    changes: true,
    args: ['KEY'],
    summary: 'Let a disabled key in again',
    run: async (context, input) =>
      edited(context, await keyOf(context, input), ({ id }) =>
        context.desks().keys.setDisabled(id, false),
      ),
  },
  {
    name: 'keys import',
    changes: true,
    args: ['FILE'],
    summary: 'Add the keys of another system, all or none',
    details:
      'FILE is CSV with a line of column names, or JSON lines. Columns: token or sha256 (hex or ' +
      'base64url), plan, and, as needed, name, account, perMinute, perDay, expires, note.',
    run: importFile,
  },
]

/** Changes a key, and shows it as it is then with what that leads to. */
async function edited(
  context: Context,
  key: Key,
  change: (key: Key) => Promise<Key>,
): Promise<Output> {
  const { keys, quotas } = context.desks()
  const before = await quotas.describe(key)
  const changed = await change(key)
  const after = await quotas.describe(changed)
  const shared = changed.account === key.account ? [] : await sharing(changed, keys)
  return shown(after, [...shared, ...consequencesOf(before, after)])
}

async function rotate(context: Context, input: Input): Promise<Output> {
  const overlapMs = valueOf(input, 'overlap', overlapTime) ?? 24 * 3_600_000
  const { id, secrets } = await keyOf(context, input)
  const { keys, quotas } = context.desks()
  const { key, token } = await keys.rotate(id, overlapMs)
  const now = context.clock()
  const older = secrets.find(({ untilMs = 0 }) => untilMs > now)?.untilMs
  const until = key.secrets[1]?.untilMs ?? 0
  const old =
    until > now ? `The old one works until ${endText(until)}.` : 'The old one works no longer.'
  const ended =
    older === undefined
      ? []
      : [
          `The one before it works no longer: it was to work until ${endText(older)}, and at most two tokens work.`,
        ]
  const details = await quotas.describe(key)
  return issued('Rotated', key, token, [old, ...ended, ...consequencesOf(details, details)])
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
