import { hash, timingSafeEqual } from 'node:crypto'

/** Whether two texts are the same, in the same time for every text that is given. */
export function isSame(text: string, right: string): boolean {
  return timingSafeEqual(digest(text), digest(right))
}

/** A digest of fixed length, so that a comparison takes the same time for every token. */
function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
