import { auditEntriesFrom, auditText, rememberedEntries } from '../../records/audit-store.ts'
import type { WrittenStore } from '../dump/store.ts'
import { answerOf } from './answer.ts'
import { script, type RedisOptions } from './script.ts'

/** Lines that are added per call. */
const batchSize = 200

/** Puts lines of an audit among those of Redis, by their time: a gateway that follows them isn't given older ones than it has read. */
export function auditPutter(options: RedisOptions): WrittenStore['putAudit'] {
  const { connection, prefix } = options
  const audit = `${prefix}audit`
  // In the same slot of a Cluster as the audit, so that RENAME can replace it.
  const newAudit = prefix.includes('{') ? `${audit}:loaded` : `{${audit}}:loaded`
  const replace = script({ ...options, file: 'audit-replace.lua' }, [audit, newAudit])
  return async (entries) => {
    const own = await answerOf(connection.xrange(audit, '-', '+'))
    const lines = [...entries, ...own.flatMap(([, fields]) => auditEntriesFrom(fields[1]))]
      .sort((a, b) => a.atMs - b.atMs)
      .slice(-rememberedEntries)
    await answerOf(connection.del(newAudit))
    for (let start = 0; start < lines.length; start += batchSize) {
      const added = lines
        .slice(start, start + batchSize)
        .map((entry) => connection.xadd(newAudit, `${entry.atMs}-*`, 'entry', auditText(entry)))
      await answerOf(Promise.all(added))
    }
    await replace(own.at(-1)?.[0] ?? '0-0')
  }
}
