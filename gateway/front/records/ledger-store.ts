import { randomUUID } from 'node:crypto'
import { dayMs, foreverMs } from '../../../shared/windows.ts'
import { mostBytes, type Documents } from '../shelves/documents.ts'

/** The number of days that are kept. */
export const ledgerDays = 400

/** The length of a day's grace: what is late by less than this after midnight still counts. */
export const graceMs = 10 * 60_000

/** A closed day. Days count from 1970 in UTC; `chunks` are what `packed` made. */
export type ClosedDay = Readonly<{ day: number; chunks: readonly Buffer[] }>

/**
 * The closed days of the ledger, for `ledgerDays`. A closed day never changes. A store that can't be asked at the moment
 * rejects with `StoreUnavailable`; a day is then closed whole or not at all.
 */
export interface LedgerStore {
  /** The first day of the ledger. The first call notes the given one. */
  begin(day: number): Promise<number>

  /** Closes a day, unless it is closed already. */
  close(day: ClosedDay): Promise<void>

  isClosed(day: number): Promise<boolean>

  /** The chunks of a closed day, in their order; `undefined` for another one. */
  chunks(day: number): Promise<readonly Buffer[] | undefined>
}

const keptMs = ledgerDays * dayMs

/**
 * The ledger on a shelf of documents: a folder each day. Who closes it puts the parts of the chunks under a name of its own,
 * and then the document `closed`, with that name and the number of chunks. What a killed one leaves is read by
 * nobody, and ends with the day.
 */
export function ledgerOn(documents: Documents): LedgerStore {
  const began = async () => documents.get('ledger', 'began')
  const closed = async (day: number) => documents.get(folderOf(day), 'closed')
  return {
    async begin(day) {
      const options = { keptMs: foreverMs, version: 0 }
      if (!(await began())) await documents.put('ledger', 'began', String(day), options)
      return Number((await began())?.body ?? day)
    },

    async close({ day, chunks }) {
      if (await closed(day)) return
      const folder = folderOf(day)
      const by = randomUUID()
      for (const [i, chunk] of chunks.entries()) {
        // The last part is shorter, if only empty.
        for (let start = 0; start <= chunk.length; start += mostBytes) {
          const part = chunk.subarray(start, start + mostBytes)
          await documents.put(folder, `${by} ${i} ${start}`, part, { keptMs })
        }
      }
      await documents.put(folder, 'closed', `${by} ${chunks.length}`, { keptMs, version: 0 })
    },

    isClosed: async (day) => (await closed(day)) !== undefined,

    async chunks(day) {
      const end = await closed(day)
      if (!end) return undefined
      const [by, count] = String(end.body).split(' ')
      const chunks: Buffer[] = []
      while (chunks.length < Number(count)) {
        const parts: Buffer[] = []
        do {
          const start = parts.length * mostBytes
          const part = await documents.get(folderOf(day), `${by} ${chunks.length} ${start}`)
          // A damaged count would lead on without end.
          if (!part) return chunks
          parts.push(part.body)
        } while (parts.at(-1)?.length === mostBytes)
        chunks.push(Buffer.concat(parts))
      }
      return chunks
    },
  }
}

function folderOf(day: number): string {
  return `ledger:${day}`
}
