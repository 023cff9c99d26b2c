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

  /** Closes a day, unless it is closed already. Deletes days that are too old. */
  close(day: ClosedDay): Promise<void>

  isClosed(day: number): Promise<boolean>

  /** The chunks of a closed day, in their order; `undefined` for another one. */
  chunks(day: number): Promise<readonly Buffer[] | undefined>
}
