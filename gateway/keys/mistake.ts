import type { RefusalCode } from '../../shared/refusal.ts'

/** Something about keys that can't be done as it was asked for, in a sentence for operators. */
export class KeyMistake extends Error {
  /** What it is to whoever asks by HTTP. */
  readonly code: RefusalCode

  constructor(message: string, code: RefusalCode = 'invalid_request') {
    super(message)
    this.code = code
  }
}
