import { latestDays } from '../../../front/counts/usage.ts'
import { timeText } from '../../../../shared/times.ts'
import { keyNames } from '../../../front/keys/names.ts'
import { dayMs } from '../../../../shared/windows.ts'
import type { AuditEntry } from '../../../front/records/audit-store.ts'
import { operation, type AnswerOf } from '../operation.ts'
import { days, newest, textOf } from '../parameters.ts'
import { changeSentence, isOfMany } from '../change-sentence.ts'
import { changesOf } from '../key-changes.ts'
import { aligned } from '../table.ts'

export const listAudit = operation({
  name: 'audit',
  at: ['GET /admin/audit'],
  summary: 'List who changed which key, ban, quota or configuration',
  details:
    'Bans that keys have earned are listed too, by "gateway". An act on several keys is one line; --key has each of them. With --json each line has the sentence, and the values before and after.',
  parameters: {
    key: textOf('KEY', 'only changes and bans of this key'),
    days,
    limit: newest('lines'),
  },
  role: 'read',
  takesLong: ({ limit = 0 }) => limit > 200,
  run: async ({ stores, desks, clock }, { key, days, limit }) => {
    const { audit } = stores()
    const query = { fromMs: latestDays(days, clock()).fromDay * dayMs, limit }
    const ofKey = key === undefined ? undefined : await desks().keys.known(key)
    const listed = ofKey
      ? await changesOf(audit, ofKey, query)
      : await audit.list({ ...query, subject: key })
    // An act is of no single key, unless one is asked for.
    const entries = listed.map((entry) =>
      key === undefined && isOfMany(entry.act)
        ? { ...entry, subject: entry.act.account ?? 'keys' }
        : { ...entry, act: undefined },
    )
    const ofKeys = entries.filter(({ what }) => isOfKey(what)).map(({ subject }) => subject)
    const nameOf = await keyNames(stores().keys, ofKeys)
    return entries.map((entry) => {
      const name = isOfKey(entry.what) ? nameOf(entry.subject) : undefined
      return { ...entry, did: changeSentence({ ...entry, name }) }
    })
  },
  json: (lines) =>
    lines.map(({ atMs, did, ...entry }) => ({
      at: new Date(atMs).toISOString(),
      ...entry,
      sentence: `${entry.by} ${did}`,
    })),
  text: table,
})

/** A change as programs are told of it. */
export type AuditView = AnswerOf<typeof listAudit>[number]

/** Whether a change is of a key, its ban or its quota. */
function isOfKey(what: string): boolean {
  return /^(?:keys|bans|quota)\./.test(what)
}

function table(lines: readonly (AuditEntry & Readonly<{ did: string }>)[]): string {
  if (lines.length === 0) return 'Nothing was changed.'
  const rows = lines.map(({ atMs, by, subject, did }) => [timeText(atMs), by, subject, did])
  return aligned([['WHEN', 'BY', 'OF', 'DID'], ...rows])
}
