import { printable } from '../../../shared/printable.ts'
import { endText } from '../../../shared/times.ts'
import { banView } from '../../front/limits/views.ts'
import { banTime } from './kinds.ts'
import { operation } from './operation.ts'
import { oneKey, textOf, valueOf } from './parameters.ts'
import { aligned } from './table.ts'

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

export const liftBan = operation({
  name: 'bans lift',
  at: ['DELETE /admin/bans/{id}'],
  isSilent: true,
  summary: 'End a ban, on every gateway within a second',
  parameters: { key: oneKey },
  changes: true,
  role: 'support',
  run: async ({ desks }, { key }) => {
    await desks().quotas.lift(key.id)
    return key
  },
  json: ({ id }) => ({ id, lifted: true }),
  text: ({ id, name }) => `The ban of ${id} (${printable(name)}) is lifted.`,
})

export const setBan = operation({
  name: 'bans set',
  at: ['PUT /admin/bans/{id}'],
  summary: 'Ban a key from now on, in place of its active ban',
  parameters: {
    key: oneKey,
    for: { ...valueOf(banTime, 'DURATION', 'how long'), isRequired: true },
    note: textOf('TEXT', 'the reason, for other operators'),
  },
  changes: true,
  role: 'all',
  run: ({ desks }, { key, for: forMs, note }) => desks().quotas.ban(key.id, forMs, note),
  json: banView,
  text: ({ key, name, untilMs }, { clock }) =>
    `The key ${key} (${printable(name)}) is banned until ${endText(untilMs, clock())}.`,
})
