import { auditText, rememberedEntries, type AuditEntry } from '../../records/audit-store.ts'
import type { Puts } from '../copy.ts'
import { mergedAudit } from '../merge.ts'
import { answerOf } from './answer.ts'
import { batchSize, inBatches } from './in-batches.ts'
import { script, type RedisOptions } from './script.ts'

/** Puts lines of an audit among those of Redis, by their time. */
export function putAudit(options: RedisOptions): Puts['audit'] {
  const { connection, prefix } = options
  const audit = `${prefix}audit`
  // In the same slot of a Cluster as the audit, so that RENAME can replace it.
  const newAudit = prefix.includes('{') ? `${audit}:copy` : `{${audit}}:copy`
  const replace = script({ ...options, file: 'copy-audit.lua' }, [audit, newAudit])
  return async (entries) => {
    const lines = await answerOf(connection.xrange(audit, '-', '+'))
    const idByText = new Map(lines.map(([id, fields]) => [fields[1] ?? '', id]))
    const merged = mergedAudit([...idByText.keys()], entries).slice(-rememberedEntries)
    await answerOf(connection.del(newAudit))
    const add = ({ id, text }: { id: string; text: string }) =>
      answerOf(connection.xadd(newAudit, id, 'entry', text))
    const inOrder = 1
    await inBatches(
      placedIn(merged, idByText),
      batchSize,
      async (batch) => void (await Promise.all(batch.map(add))),
      inOrder,
    )
    await replace(lines.at(-1)?.[0] ?? '0-0')
  }
}

/**
 * Lines of a stream with rising ids: stored lines keep theirs, the others get one from their time. So a
 * reader that follows the stream isn't given lines older than those it has read.
 */
function placedIn(
  entries: readonly AuditEntry[],
  idByText: ReadonlyMap<string, string>,
): { id: string; text: string }[] {
  const lines = entries.map((entry) => {
    const text = auditText(entry)
    const [ms = entry.atMs, number = 0] = (idByText.get(text) ?? '')
      .split('-')
      .filter(Boolean)
      .map(Number)
    return { text, ms, number }
  })
  lines.sort((a, b) => a.ms - b.ms || a.number - b.number)
  let [lastMs, lastNumber] = [0, 0]
  return lines.map(({ text, ms, number }) => {
    const isLater = ms > lastMs || (ms === lastMs && number > lastNumber)
    ;[lastMs, lastNumber] = isLater ? [ms, number] : [lastMs, lastNumber + 1]
    return { id: `${lastMs}-${lastNumber}`, text }
  })
}
