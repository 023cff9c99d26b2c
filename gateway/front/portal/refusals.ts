import { Refusal, refusalFrom } from '../../../shared/refusal.ts'
import { KeyMistake } from '../keys/mistake.ts'
import { StoreUnavailable } from '../../../shared/store-errors.ts'

const secondsUntilBack = '5'

/** The refusal that a caller gets for something thrown. */
export function refusalForFailure(thrown: unknown): Refusal {
  if (thrown instanceof KeyMistake) return new Refusal(thrown.code, thrown.message)
  if (!(thrown instanceof StoreUnavailable)) return refusalFrom(thrown)
  const sentence = `The store can’t be reached just now. Try again in ${secondsUntilBack} seconds.`
  const headers = { 'retry-after': secondsUntilBack }
  return new Refusal('service_unavailable', sentence, headers, thrown).because('store')
}
