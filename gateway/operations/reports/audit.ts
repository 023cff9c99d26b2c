import { timeText } from '../../../shared/times.ts'
import { dayMs } from '../../limits/step.ts'
import { auditView, type AuditEntry } from '../../records/audit-store.ts'
import { lineCount } from '../kinds.ts'
import { operation } from '../operation.ts'
import { days, dayRange, textOf } from '../parameters.ts'
import { changesText } from '../changes-text.ts'
import { aligned } from '../table.ts'

export const listAudit = operation({
  name: 'audit',
  at: ['GET /admin/audit'],
  summary: 'List who changed which key, ban, quota or configuration',
  details: 'Bans that keys have earned are listed too: bans.earn, by "gateway".',
  parameters: {
    key: textOf('KEY', 'only changes and bans of this key'),
    days,
    limit: {
      kind: lineCount,
      value: 'N',
      help: 'how many lines, the newest first',
      defaultText: '100',
    },
  },
  role: 'read',
  run: async ({ stores, desks, clock }, { key, days, limit }) =>
    stores().audit.list({
      fromMs: dayRange(days, clock).fromDay * dayMs,
      limit,
      subject: key === undefined ? undefined : await desks().keys.subjectOf(key),
    }),
  json: (entries) => entries.map(auditView),
  text: table,
})

function table(entries: readonly AuditEntry[]): string {
  if (entries.length === 0) return 'Nothing was changed.'
  const rows = entries.map(({ atMs, by, what, subject, before, after }) => {
    return [timeText(atMs), by, what, subject, changesText(before, after)]
  })
  return aligned([['WHEN', 'BY', 'WHAT', 'OF', 'CHANGED'], ...rows])
}
