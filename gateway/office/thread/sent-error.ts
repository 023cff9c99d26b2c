import { Refusal, type RefusalCode } from '../../../shared/refusal.ts'
import { KeyMistake } from '../../front/keys/mistake.ts'
import { NotWrittenDown } from '../../front/records/audit.ts'
import { ConfigError } from '../config/config-error.ts'
import { WrongInput } from '../operations/operation.ts'
import { StoreDamaged, StoreUnavailable } from '../../../shared/store-errors.ts'

/** An error as a message: by itself a message keeps no class. */
export type SentError = Readonly<{
  /** The class of the error, if it keeps it. */
  kind:
    | 'WrongInput'
    | 'KeyMistake'
    | 'StoreUnavailable'
    | 'StoreDamaged'
    | 'NotWrittenDown'
    | 'ConfigError'
    | 'Refusal'
    | 'other'
  message: string
  stack: string | undefined
  /** The code of a mistake or a refusal. */
  code?: RefusalCode
  headers?: Refusal['headers']
  /** The mistakes of a configuration. */
  mistakes?: readonly string[]
  /** The number of further ones. */
  more?: number
  /** The change that was made, but not written down. */
  what?: string
}>

/** Makes a message of something thrown. */
export function sentError(thrown: unknown): SentError {
  if (!(thrown instanceof Error))
    return { kind: 'other', message: String(thrown), stack: undefined }
  const { message, stack } = thrown
  if (thrown instanceof WrongInput) return { kind: 'WrongInput', message, stack }
  if (thrown instanceof StoreUnavailable) return { kind: 'StoreUnavailable', message, stack }
  if (thrown instanceof StoreDamaged) return { kind: 'StoreDamaged', message, stack }
  if (thrown instanceof NotWrittenDown) {
    return { kind: 'NotWrittenDown', message, stack, what: thrown.what }
  }
  if (thrown instanceof ConfigError) {
    const { mistakes, more } = thrown
    return { kind: 'ConfigError', message, stack, mistakes, more }
  }
  if (thrown instanceof KeyMistake) return { kind: 'KeyMistake', message, stack, code: thrown.code }
  if (!(thrown instanceof Refusal)) return { kind: 'other', message, stack }
  const { code, headers } = thrown
  return { kind: 'Refusal', message, stack, code, headers }
}

/** The error that was thrown, of its own class, with the stack of where it was. */
export function errorFrom(error: SentError): Error {
  return Object.assign(revived(error), { stack: error.stack })
}

function revived(error: SentError): Error {
  const { kind, message, code = 'internal_error', headers, what = '' } = error
  if (kind === 'WrongInput') return new WrongInput(message)
  if (kind === 'StoreUnavailable') return new StoreUnavailable(message)
  if (kind === 'StoreDamaged') return new StoreDamaged(message)
  if (kind === 'NotWrittenDown') return Object.assign(new NotWrittenDown(what, ''), { message })
  if (kind === 'ConfigError') return new ConfigError(message, error)
  if (kind === 'KeyMistake') return new KeyMistake(message, code)
  return kind === 'Refusal' ? new Refusal(code, message, headers) : new Error(message)
}
