import { asError } from '../../../shared/as-error.ts'
import type { KeyListener } from '../keys/store.ts'

/** Makes what tells a listener when failures begin, and when they are over. */
export function troubleOf({ trouble }: Pick<KeyListener, 'trouble'>): (error: unknown) => void {
  let isFailing = false
  return (error) => {
    if ((error !== undefined) === isFailing) return
    isFailing = !isFailing
    trouble?.(isFailing ? asError(error) : undefined)
  }
}
