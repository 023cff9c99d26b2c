import { Refusal } from '../../../shared/refusal.ts'
import { KeyMistake } from '../../front/keys/mistake.ts'
import { NotWrittenDown } from '../../front/records/audit.ts'
import { ConfigError } from '../config/config-error.ts'
import { WrongInput } from '../operations/operation.ts'
import { StoreDamaged, StoreUnavailable } from '../../../shared/store-errors.ts'

/** An error as a message: by itself a message keeps no class. */
export type SentError = Readonly<{
  /** The place of its class among those that errors keep; -1 for any other. */
  kind: number
  message: string
  stack: string | undefined
}> &
  Partial<
    Pick<Refusal, 'code' | 'headers'> &
      Pick<ConfigError, 'mistakes' | 'more'> &
      Pick<NotWrittenDown, 'what'>
  >

type Kind = readonly [
  of: abstract new (...values: never) => Error,
  remake: (sent: SentError) => Error,
]

/** The classes that errors keep, and how each is made anew. */
const kinds: readonly Kind[] = [
  [WrongInput, ({ message }) => new WrongInput(message)],
  [StoreUnavailable, ({ message }) => new StoreUnavailable(message)],
  [StoreDamaged, ({ message }) => new StoreDamaged(message)],
  [
    NotWrittenDown,
    (sent) => Object.assign(new NotWrittenDown(sent.what ?? '', ''), { message: sent.message }),
  ],
  [ConfigError, (sent) => new ConfigError(sent.message, sent)],
  [KeyMistake, ({ message, code }) => new KeyMistake(message, code)],
  [Refusal, ({ message, code = 'internal_error', headers }) => new Refusal(code, message, headers)],
]

/** Makes a message of something thrown. */
export function sentError(thrown: unknown): SentError {
  if (!(thrown instanceof Error)) return { kind: -1, message: String(thrown), stack: undefined }
  const { message, stack } = thrown
  const kind = kinds.findIndex(([Kind]) => thrown instanceof Kind)
  // Nobody knows what else another error has, and whether a message can hold it.
  return { ...(kind < 0 ? {} : thrown), kind, message, stack }
}

/** The error that was thrown, of its own class, with the stack of where it was. */
export function errorFrom(sent: SentError): Error {
  const [, remake] = kinds[sent.kind] ?? []
  return Object.assign(remake?.(sent) ?? new Error(sent.message), { stack: sent.stack })
}
