import type { RefusalCode } from '../../../shared/refusal.ts'

/** A mistake in an operator's request about keys, in a sentence for the operator. */
export class KeyMistake extends Error {
  /** The code of the refusal in the admin API. */
  readonly code: RefusalCode

  constructor(message: string, code: RefusalCode = 'invalid_request') {
    super(message)
    this.code = code
  }
}
