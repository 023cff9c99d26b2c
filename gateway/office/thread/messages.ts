import type { MessagePort } from 'node:worker_threads'
import type { ConfigDeskOptions, DeskQuestion } from '../config/desk.ts'
import type { AskedRefusals } from '../explain/stored-refusals.ts'
import { contentFrom } from '../operations/content.ts'
import type { Operation } from '../operations/operation.ts'
import type { Role } from '../../../shared/role.ts'
import type { Content, Parameters } from '../operations/parameter.ts'
import type { SentError } from './sent-error.ts'

/** The form of an answer. */
export type Form = 'json' | 'csv'

/** An operation that the holder of a token asks for, with its values. */
export type Question = Readonly<{
  operation: Pick<Operation, 'name' | 'parameters' | 'changes'>
  given: Given
  form: Form
  /** The operator who asks: the author of changes. */
  operator: Readonly<{ name: string; role: Role }>
  /** The secret of the gateway's signature, if it signs. */
  secret: string | undefined
  nowMs: number
}>

/** A question as a message. */
export type SentQuestion = Omit<Question, 'operation'> & Readonly<{ name: string }>

/** The first message to a thread: the configuration in force, on which it works. */
export type Beginning = ConfigDeskOptions

/** A question to the desk of configurations. */
export type SentDeskQuestion = Readonly<{ name: DeskQuestion; given: readonly unknown[] }>

/** A message to the thread. The port is for the answer; when the gateway closes it, nobody wants the answer any more. */
export type Asked = Readonly<{ port: MessagePort }> &
  (
    | Readonly<{ question: SentQuestion }>
    | Readonly<{ desk: SentDeskQuestion }>
    /** Closes the ledger's days that are due at this time. */
    | Readonly<{ closeDaysAtMs: number }>
    /** Reads refused and failed answers with an id from the store. */
    | Readonly<{ refusals: AskedRefusals }>
  )

/**
 * A message with an answer: all of it, as a text or a value, a piece, after which the thread waits until it is asked for more, or the end of the
 * pieces. The desk's answer comes after a message that it has begun.
 */
export type ThreadAnswer =
  | Readonly<{ is: 'begun' }>
  | Readonly<{ is: 'whole' | 'piece'; text: Uint8Array<ArrayBuffer> }>
  | Readonly<{ is: 'value'; value: unknown }>
  | Readonly<{ is: 'end' }>
  | Readonly<{ is: 'error'; error: SentError }>

/** The message that asks for the next piece. */
export const more = 'more'

type Given = Readonly<Record<string, unknown>>
type SentContent = Readonly<{ name: string; text: string | readonly Uint8Array<ArrayBuffer>[] }>

/** Makes a message of a question: contents are read by functions, which no message can hold. It takes their bytes along. */
export function sendable({
  operation,
  given,
  ...others
}: Question): [message: Readonly<{ question: SentQuestion }>, taken: readonly ArrayBuffer[]] {
  const { name, parameters } = operation
  const taken: ArrayBuffer[] = []
  const sent = withContents(parameters, given, (value): SentContent => {
    const { name, read, bytes } = value as Content
    for (const { buffer } of bytes ?? []) taken.push(buffer)
    return { name, text: bytes ?? read() }
  })
  return [{ question: { ...others, name, given: sent } }, taken]
}

/** The values of an operation that came with a question. */
export function received(parameters: Parameters, values: Given): Given {
  return withContents(parameters, values, (value): Content => {
    const { name, text } = value as SentContent
    return typeof text === 'string' ? { name, read: () => text } : contentFrom(name, text)
  })
}

function withContents(
  parameters: Parameters,
  values: Given,
  change: (value: unknown) => unknown,
): Given {
  const isContent = (name: string): boolean => 'types' in (parameters[name] ?? {})
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, isContent(name) ? change(value) : value]),
  )
}
