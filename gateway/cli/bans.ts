import { durationFrom } from '../config/units.ts'
import { QuotaDesk } from '../limits/desk.ts'
import { required, UsageError, type Command, type Context } from './command.ts'
import { aligned, timeText } from './table.ts'

/** The commands with which operators see to bans and quotas. */
export const banCommands: readonly Command[] = [
  {
    name: 'bans list',
    summary: 'List the bans that run',
    run: async (context) => {
      const bans = await desk(context).bans()
      const rows = bans.map(({ key, name, untilMs }) => [key, name, timeText(untilMs)])
      return {
        text: rows.length > 0 ? aligned([['ID', 'NAME', 'UNTIL'], ...rows]) : 'No ban runs.',
        json: bans.map(({ key, name, untilMs }) => ({ id: key, name, until: iso(untilMs) })),
      }
    },
  },
  {
    name: 'bans lift',
    args: ['KEY_ID'],
    summary: 'End a ban, on every gateway within a second',
    run: async (context, { args: [id = ''] }) => {
      await desk(context).lift(id)
      return { text: `The ban of ${id} is lifted.`, json: { id, lifted: true } }
    },
  },
  {
    name: 'bans set',
    args: ['KEY_ID'],
    summary: 'Ban a key from now on, in place of a ban that runs',
    options: { for: { value: 'DURATION', help: 'how long, such as 30m, 24h or 7d' } },
    run: async (context, input) => {
      const given = required(input, 'for')
      const forMs = durationFrom(given)
      if (!forMs)
        throw new UsageError(`--for must be a duration such as 30m or 24h, got "${given}"`)
      const { key, untilMs } = await desk(context).ban(input.args[0] ?? '', forMs)
      return {
        text: `The key ${key} is banned until ${timeText(untilMs)}.`,
        json: { id: key, until: iso(untilMs) },
      }
    },
  },
  {
    name: 'quota reset',
    args: ['KEY_ID'],
    summary: 'Empty the minute and the day of a key, or of its account',
    run: async (context, { args: [id = ''] }) => {
      const quota = await desk(context).reset(id)
      return {
        text: `The counters of ${quota.replace(':', ' ')} are empty again.`,
        json: { id, quota },
      }
    },
  },
]

function desk({ stores, clock }: Context): QuotaDesk {
  const { keys, quota } = stores()
  return new QuotaDesk({ keys, quota, clock })
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
