import { isTrouble } from '../../../../shared/sqlite.ts'
import { StoreUnavailable } from '../../../../shared/store-errors.ts'

/** Gives what SQLite answers; throws `StoreUnavailable` if the file can't be used at the moment. */
export function answerOf<Answer>(ask: () => Answer): Answer {
  try {
    return ask()
  } catch (error) {
    throw unavailable(error)
  }
}

/** A promise of what SQLite answers; it rejects where `answerOf` throws. */
export function promiseOf<Answer>(ask: () => Answer): Promise<Answer> {
  return new Promise((resolve) => resolve(answerOf(ask)))
}

/** Turns SQLite's errors about a locked file or a full or failing disk into `StoreUnavailable`. */
export function unavailable(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  return isTrouble(error) ? new StoreUnavailable(error.message, { cause: error }) : error
}
