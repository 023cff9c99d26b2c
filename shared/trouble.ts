import { asError } from './as-error.ts'

/** Makes what tells when failures begin, and with `undefined` when they are over. */
export function tellingTrouble(
  tell: ((error: Error | undefined) => void) | undefined,
): (error: unknown) => void {
  let isFailing = false
  return (error) => {
    if ((error !== undefined) === isFailing) return
    isFailing = !isFailing
    tell?.(isFailing ? asError(error) : undefined)
  }
}
