import { setTimeout } from 'node:timers/promises'

/** Work that is done in pieces: each `yield` ends one. */
export type Pieces<Result> = Generator<void, Result>

/**
 * Does one piece after the other, and rests as long as each took: the requests that have waited for it are answered before
 * the next one begins.
 */
export async function inPieces<Result>(pieces: Pieces<Result>): Promise<Result> {
  for (;;) {
    const beganAtMs = performance.now()
    const { done, value } = pieces.next()
    if (done) return value
    await setTimeout(performance.now() - beganAtMs)
  }
}
