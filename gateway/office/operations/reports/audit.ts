import { timeText } from '../../../../shared/times.ts'
import { keyNames } from '../../../front/keys/names.ts'
import { dayMs } from '../../../../shared/windows.ts'
import { auditView, type AuditEntry } from '../../../front/records/audit-store.ts'
import { lineCount } from '../kinds.ts'
import { operation } from '../operation.ts'
import { days, dayRange, textOf } from '../parameters.ts'
import { changeSentence } from '../change-sentence.ts'
import { aligned } from '../table.ts'

export const listAudit = operation({
  name: 'audit',
  at: ['GET /admin/audit'],
  summary: 'List who changed which key, ban, quota or configuration',
  details:
    'Bans that keys have earned are listed too, by "gateway". With --json each line has the values before and after.',
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
  text: async (entries, { stores }) => {
    const ofKeys = entries.filter(({ what }) => isOfKey(what)).map(({ subject }) => subject)
    return table(entries, await keyNames(stores().keys, ofKeys))
  },
})

/** Whether a change is of a key, its ban or its quota. */
function isOfKey(what: string): boolean {
  return /^(?:keys|bans|quota)\./.test(what)
}

function table(entries: readonly AuditEntry[], nameOf: (id: string) => string): string {
  if (entries.length === 0) return 'Nothing was changed.'
  const rows = entries.map((entry) => {
    const { atMs, by, what, subject } = entry
    const name = isOfKey(what) ? nameOf(subject) : undefined
    return [timeText(atMs), by, subject, changeSentence({ ...entry, name })]
  })
  return aligned([['WHEN', 'BY', 'OF', 'DID'], ...rows])
}
