import { durationFrom } from '../config/units.ts'
import { banView } from '../views.ts'
import { required, UsageError, type Command } from './command.ts'
import { aligned, timeText } from './table.ts'

/** The commands with which operators see to bans and quotas. */
export const banCommands: readonly Command[] = [
  {
    name: 'bans list',
    summary: 'List the bans that run',
    run: async ({ desks }) => {
      const bans = await desks().quotas.bans()
      const rows = bans.map(({ key, name, untilMs }) => [key, name, timeText(untilMs)])
      return {
        text: rows.length > 0 ? aligned([['ID', 'NAME', 'UNTIL'], ...rows]) : 'No ban runs.',
        json: bans.map(banView),
      }
    },
  },
  {
    name: 'bans lift',
    changes: true,
    args: ['KEY_ID'],
    summary: 'End a ban, on every gateway within a second',
    run: async ({ desks }, { args: [id = ''] }) => {
      await desks().quotas.lift(id)
      return { text: `The ban of ${id} is lifted.`, json: { id, lifted: true } }
    },
  },
  {
    name: 'bans set',
    changes: true,
    args: ['KEY_ID'],
    summary: 'Ban a key from now on, in place of a ban that runs',
    options: { for: { value: 'DURATION', help: 'how long, such as 30m, 24h or 7d' } },
    run: async ({ desks }, input) => {
      const given = required(input, 'for')
      const forMs = durationFrom(given)
      if (!forMs)
        throw new UsageError(`--for must be a duration such as 30m or 24h, got "${given}"`)
      const ban = await desks().quotas.ban(input.args[0] ?? '', forMs)
      return {
        text: `The key ${ban.key} is banned until ${timeText(ban.untilMs)}.`,
        json: banView(ban),
      }
    },
  },
  {
    name: 'quota show',
    args: ['KEY_ID'],
    summary: 'Show where a key stands in its minute and its day',
    run: async ({ desks }, { args: [id = ''] }) => {
      const view = await desks().quotas.show(id)
      const windows = [
        ['minute', view.minute],
        ['day', view.day],
      ] as const
      const rows = windows.map(([name, window]) =>
        window
          ? [name, ...[window.limit, window.remaining].map(String), timeText(window.reset * 1_000)]
          : [name, 'unlimited', '-', '-'],
      )
      return { text: aligned([['WINDOW', 'LIMIT', 'LEFT', 'RESET'], ...rows]), json: view }
    },
  },
  {
    name: 'quota reset',
    changes: true,
    args: ['KEY_ID'],
    summary: 'Empty the minute and the day of a key, or of its account',
    run: async ({ desks }, { args: [id = ''] }) => {
      const quota = await desks().quotas.reset(id)
      return {
        text: `The counters of ${quota.replace(':', ' ')} are empty again.`,
        json: { id, quota },
      }
    },
  },
]
