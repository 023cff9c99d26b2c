import { printable } from '../../shared/printable.ts'
import type { QuotaView } from '../limits/desk.ts'
import { banTime } from '../operations/values.ts'
import { banView } from '../operations/views.ts'
import { keyOf, required, valueOf, type Command } from './command.ts'
import { banText, stateText } from './key-views.ts'
import { aligned, endText } from './table.ts'

/** The commands with which operators see to bans and quotas. */
export const banCommands: readonly Command[] = [
  {
    name: 'bans list',
    summary: 'List the bans that run',
    details: 'Bans that are over are in the audit: tollgate audit --key KEY.',
    run: async ({ desks }) => {
      const bans = await desks().quotas.bans()
      const rows = bans.map(({ key, name, untilMs }) => [key, name, endText(untilMs)])
      return {
        text: rows.length > 0 ? aligned([['ID', 'NAME', 'UNTIL'], ...rows]) : 'No ban runs.',
        json: bans.map(banView),
      }
    },
  },
  {
    name: 'bans lift',
    changes: true,
    args: ['KEY'],
    summary: 'End a ban, on every gateway within a second',
    run: async (context, input) => {
      const { id, name } = await keyOf(context, input)
      await context.desks().quotas.lift(id)
      return {
        text: `The ban of ${id} (${printable(name)}) is lifted.`,
        json: { id, lifted: true },
      }
    },
  },
  {
    name: 'bans set',
    changes: true,
    args: ['KEY'],
    summary: 'Ban a key from now on, in place of a ban that runs',
    options: { for: { value: 'DURATION', help: 'how long', kind: banTime } },
    run: async (context, input) => {
      required(input, 'for')
      const forMs = valueOf(input, 'for', banTime) ?? 0
      const { id } = await keyOf(context, input)
      const ban = await context.desks().quotas.ban(id, forMs)
      return {
        text: `The key ${id} (${printable(ban.name)}) is banned until ${endText(ban.untilMs)}.`,
        json: banView(ban),
      }
    },
  },
  {
    name: 'quota show',
    args: ['KEY'],
    summary: 'Show where a key stands in its minute and its day, and whether it is banned',
    run: async (context, input) => {
      const key = await keyOf(context, input)
      const { quotas } = context.desks()
      const details = await quotas.describe(key)
      const view = await quotas.show(key.id)
      const { id, name, plan, quota } = view
      const shared = quota.startsWith('account:') ? `, shared by all keys of ${key.account}` : ''
      const lines = [
        `${id} (${printable(name)}, plan ${plan}): ${stateText(details)}${printable(shared)}`,
        ...(view.bannedUntil === null ? [] : [`Why: ${printable(banText(view))}.`]),
        ...(view.strikes > 0 ? [`Strikes lately: ${view.strikes}.`] : []),
      ]
      return { text: `${lines.join('\n')}\n\n${windowsText(view)}`, json: view }
    },
  },
  {
    name: 'quota reset',
    changes: true,
    args: ['KEY'],
    summary: 'Empty the minute and the day of a key, or of its account',
    run: async (context, input) => {
      const { id } = await keyOf(context, input)
      const { quotas } = context.desks()
      const quota = await quotas.reset(id)
      const { bannedUntil } = await quotas.show(id)
      const banned =
        bannedUntil === null
          ? ''
          : ` Its ban goes on until ${endText(bannedUntil * 1_000)}; tollgate bans lift ${id} ends it.`
      return {
        text: `The counters of ${printable(quota.replace(':', ' '))} are empty again.${banned}`,
        json: { id, quota },
      }
    },
  },
]

/** Both windows; of a key that is banned, nothing is left of either. */
function windowsText(view: QuotaView): string {
  const windows = [
    ['minute', view.minute],
    ['day', view.day],
  ] as const
  const rows = windows.map(([name, window]) => {
    if (!window) return [name, view.offered ? 'unlimited' : 'none', '-', '-', '-']
    const left = view.bannedUntil === null ? String(window.remaining) : '0, banned'
    const reset = endText(window.reset * 1_000)
    return [name, String(window.limit), String(window.used), left, reset]
  })
  return aligned([['WINDOW', 'LIMIT', 'USED', 'LEFT', 'RESET'], ...rows])
}
