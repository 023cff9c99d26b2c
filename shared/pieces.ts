import { breathe } from './breathe.ts'

/** Work that is done in pieces: each `yield` ends one. */
export type Pieces<Result> = Generator<void, Result>

/** Does all pieces at once. */
export function atOnce<Result>(pieces: Pieces<Result>): Result {
  for (;;) {
    const { done, value } = pieces.next()
    if (done) return value
  }
}

/** Does one piece after the other, and lets the event loop serve requests between two of them. */
export async function inPieces<Result>(pieces: Pieces<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = pieces.next()
    if (done) return value
    await breathe()
  }
}
