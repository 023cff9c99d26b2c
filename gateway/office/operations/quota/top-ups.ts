import { withCommas } from '../../../../shared/commas.ts'
import { printable } from '../../../../shared/printable.ts'
import { timeText } from '../../../../shared/times.ts'
import { operation } from '../operation.ts'
import { oneKey } from '../parameters.ts'
import { aligned } from '../table.ts'

export const listTopUps = operation({
  name: 'quota top-ups',
  at: ['GET /admin/quota/{id}/top-ups'],
  summary: 'List what was bought in advance for a key, or for its account',
  details: 'The latest 1,000, the newest first.',
  parameters: { key: oneKey },
  role: 'read',
  run: ({ desks }, { key }) => desks().quotas.topUps(key),
  text: (topUps) => {
    if (topUps.length === 0) return 'Nothing was bought in advance.'
    const rows = topUps.map(({ at, id, points, left, by, note }) =>
      [timeText(Date.parse(at)), id, withCommas(points), withCommas(left), by, note ?? ''].map(
        printable,
      ),
    )
    return aligned([['AT', 'ID', 'POINTS', 'LEFT', 'BY', 'NOTE'], ...rows])
  },
})
