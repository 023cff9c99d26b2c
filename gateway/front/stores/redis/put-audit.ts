import { auditText, rememberedEntries } from '../../records/audit-store.ts'
import type { WrittenStore } from '../dump/store.ts'
import { answerOf } from './answer.ts'
import { script, type RedisOptions } from './script.ts'

/** Lines that are added per call. */
const batchSize = 200

type Line = Readonly<{ ms: number; number: number; text: string }>

/** Puts lines of an audit among those of Redis, by their time. */
export function auditPutter(options: RedisOptions): WrittenStore['putAudit'] {
  const { connection, prefix } = options
  const audit = `${prefix}audit`
  // In the same slot of a Cluster as the audit, so that RENAME can replace it.
  const newAudit = prefix.includes('{') ? `${audit}:loaded` : `{${audit}}:loaded`
  const replace = script({ ...options, file: 'audit-replace.lua' }, [audit, newAudit])
  return async (entries) => {
    const own = await answerOf(connection.xrange(audit, '-', '+'))
    const lines = placed([
      ...entries.map((entry) => ({ ms: entry.atMs, number: 0, text: auditText(entry) })),
      ...own.map(([id, fields]) => {
        const [ms = 0, number = 0] = id.split('-').map(Number)
        return { ms, number, text: fields[1] ?? '' }
      }),
    ])
    await answerOf(connection.del(newAudit))
    for (let start = 0; start < lines.length; start += batchSize) {
      const added = lines
        .slice(start, start + batchSize)
        .map(({ ms, number, text }) => connection.xadd(newAudit, `${ms}-${number}`, 'entry', text))
      await answerOf(Promise.all(added))
    }
    await replace(own.at(-1)?.[0] ?? '0-0')
  }
}

/** Lines with rising ids by their time: a reader that follows the stream isn't given lines older than those it has read. */
function placed(all: readonly Line[]): Line[] {
  const lines = [...all].sort((a, b) => a.ms - b.ms || a.number - b.number)
  let [ms, number] = [0, 0]
  return lines.slice(-rememberedEntries).map((line) => {
    const isLater = line.ms > ms || (line.ms === ms && line.number > number)
    ;[ms, number] = isLater ? [line.ms, line.number] : [ms, number + 1]
    return { ms, number, text: line.text }
  })
}
