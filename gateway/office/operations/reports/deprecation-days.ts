import { callsByDay } from '../../../front/counts/deprecated-calls.ts'
import { operation } from '../operation.ts'
import { days, dayRange } from '../parameters.ts'
import { aligned } from '../table.ts'

export const deprecationDays = operation({
  name: 'deprecations days',
  at: ['GET /admin/deprecations/days'],
  summary: 'Show the calls of each deprecated operation by day',
  details: 'Days without calls are left out.',
  parameters: { days },
  role: 'read',
  takesLong: () => true,
  run: async ({ stores, clock, flush }, { days }) => {
    const { fromDay, toDay } = dayRange(days, clock)
    await flush()
    return callsByDay(stores().tallies, fromDay, toDay)
  },
  text: (calls) => {
    if (calls.length === 0) return 'No key has called a deprecated operation.'
    const rows = calls.map(({ operation, day, calls, keys }) => [operation, day, calls, keys])
    return aligned([['OPERATION', 'DAY', 'CALLS', 'KEYS'], ...rows])
  },
})
