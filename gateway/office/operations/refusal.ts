import { Refusal, type RefusalCode } from '../../../shared/refusal.ts'
import { StoreDamaged, StoreNotAsked, StoreUnavailable } from '../../../shared/store-errors.ts'
import { KeyMistake } from '../../front/keys/mistake.ts'
import { NotWrittenDown } from '../../front/records/audit.ts'
import { WrongInput } from '../wrong-input.ts'

/** `Retry-After` of an operation that failed because the store couldn't be reached. */
const secondsUntilBack = '5'

/** The refusal for what an operation has thrown; `undefined` for a fault of ours. `mayChange` tells whether it changes something. */
export function operationRefusal(thrown: unknown, mayChange = true): Refusal | undefined {
  const refused = (code: RefusalCode, message: string, headers = {}): Refusal =>
    new Refusal(code, message, headers, thrown)
  if (thrown instanceof Refusal) return thrown
  if (thrown instanceof KeyMistake) return refused(thrown.code, sentence(thrown.message))
  if (thrown instanceof WrongInput) return refused('invalid_request', sentence(thrown.message))
  if (thrown instanceof StoreDamaged) return refused('internal_error', sentence(thrown.message))
  if (thrown instanceof NotWrittenDown) {
    const message = `The change was made (${thrown.what}), but could not be written to the audit.`
    return refused('internal_error', message)
  }
  if (!(thrown instanceof StoreUnavailable)) return undefined
  const isChanged = mayChange && !(thrown instanceof StoreNotAsked)
  const change = isChanged ? '; the change may or may not have been made' : ''
  const message = `The store can’t be reached just now${change}. Try again in ${secondsUntilBack} seconds.`
  return refused('service_unavailable', message, { 'retry-after': secondsUntilBack })
}

/** A text as a sentence: with a capital letter and a full stop. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`
}
