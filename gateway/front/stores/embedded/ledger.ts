import type { Database } from '../../../../shared/sqlite.ts'
import { ledgerDays, type ClosedDay, type LedgerStore } from '../../records/ledger-store.ts'
import { answerOf } from './answer.ts'

/** The ledger in a SQLite file, which several processes may have open: a row for each chunk. */
export function embeddedLedger(database: Database): LedgerStore {
  const { begin, put } = ledgerRows(database)
  const count = database.prepare<[number], number>('SELECT chunks FROM ledgerDays WHERE day = ?')
  const chunks = database
    .prepare<[number], Buffer>('SELECT data FROM ledgerChunks WHERE day = ? ORDER BY number')
    .pluck()
  const forgetDays = database.prepare('DELETE FROM ledgerDays WHERE day <= ?')
  const forgetChunks = database.prepare('DELETE FROM ledgerChunks WHERE day <= ?')
  const close = database.transaction((closed: ClosedDay) => {
    put(closed)
    forgetDays.run(closed.day - ledgerDays)
    forgetChunks.run(closed.day - ledgerDays)
  })
  const isClosed = (day: number): boolean => answerOf(() => count.get(day)) !== undefined

  return {
    begin: (day) => Promise.resolve(answerOf(() => begin(day))),
    close: (closed) => Promise.resolve(answerOf(() => void close.immediate(closed))),
    isClosed: (day) => Promise.resolve(isClosed(day)),
    chunks: (day) => Promise.resolve(isClosed(day) ? answerOf(() => chunks.all(day)) : undefined),
  }
}

/** Writes rows of the ledger; a day that is there stays as it is. */
function ledgerRows(database: Database) {
  const began = database.prepare<[], number>('SELECT day FROM ledgerBegan').pluck()
  const noteBegan = database.prepare('INSERT INTO ledgerBegan VALUES (?)')
  const putDay = database.prepare('INSERT OR IGNORE INTO ledgerDays VALUES (?, ?)')
  const putChunk = database.prepare('INSERT INTO ledgerChunks VALUES (?, ?, ?)')
  const note = database.transaction((day: number): number => {
    const noted = began.get()
    if (noted === undefined) noteBegan.run(day)
    return noted ?? day
  })
  return {
    begin: (day: number): number => began.get() ?? note.immediate(day),
    put: ({ day, chunks }: ClosedDay): void => {
      if (putDay.run(day, chunks.length).changes === 0) return
      chunks.forEach((chunk, number) => putChunk.run(day, number, chunk))
    },
  }
}
