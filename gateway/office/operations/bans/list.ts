import { endText } from '../../../../shared/times.ts'
import { operation } from '../operation.ts'
import { aligned } from '../table.ts'
import { banView } from '../../../front/limits/views.ts'

export const listBans = operation({
  name: 'bans list',
  at: ['GET /admin/bans'],
  summary: 'List active bans',
  details: 'Bans that are over are in the audit: tollgate audit --key KEY.',
  parameters: {},
  role: 'read',
  run: ({ desks }) => desks().quotas.bans(),
  json: (bans) => bans.map(banView),
  text: (bans, { clock }) => {
    const rows = bans.map(({ key, name, untilMs }) => [key, name, endText(untilMs, clock())])
    return rows.length > 0 ? aligned([['ID', 'NAME', 'UNTIL'], ...rows]) : 'No key is banned.'
  },
})
