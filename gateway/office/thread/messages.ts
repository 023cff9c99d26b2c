import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../../front/config/config.ts'
import type { CompleteFile } from '../config/defaults.ts'
import type { Environment } from '../config/variables.ts'
import type { Operation } from '../operations/operation.ts'
import type { Content, Parameters } from '../operations/parameter.ts'
import type { SentError } from './sent-error.ts'

/** The form of an answer. */
export type Form = 'json' | 'csv'

/** An operation that the holder of a token asks for, with its values. */
export type Question = Readonly<{
  operation: Pick<Operation, 'name' | 'parameters'>
  given: Given
  form: Form
  by: string
  nowMs: number
}>

/** A question as a message. */
export type SentQuestion = Omit<Question, 'operation'> & Readonly<{ name: string }>

/** The parts of the gateway that operations need, as they are when a question's turn has come. */
export type ThreadInput = Readonly<{
  config: Config
  /** The configuration in its shown form, and the lines of its settings by their places. */
  shown: CompleteFile
  lines: Readonly<Record<string, number>>
  environment: Environment
  secret: string | undefined
}>

/** A message to the thread. The port is for the answer; when the gateway closes it, nobody wants the answer any more. */
export type Asked = Readonly<{ question: SentQuestion; handed: ThreadInput; port: MessagePort }>

/**
 * A message with an answer: all of it, a piece, after which the thread waits until it is asked for more, or the end of the
 * pieces.
 */
export type ThreadAnswer =
  | Readonly<{ is: 'whole' | 'piece'; text: Uint8Array<ArrayBuffer> }>
  | Readonly<{ is: 'end' }>
  | Readonly<{ is: 'error'; error: SentError }>

/** The message that asks for the next piece. */
export const more = 'more'

type Given = Readonly<Record<string, unknown>>
type SentContent = Readonly<{ name: string; text: string }>

/** Makes a message of a question: contents are read by functions, which no message can hold. */
export function sendable({ operation, given, ...others }: Question): SentQuestion {
  const { name, parameters } = operation
  const sent = withContents(parameters, given, (value): SentContent => {
    const { name, read } = value as Content
    return { name, text: read() }
  })
  return { ...others, name, given: sent }
}

/** The values of an operation that came with a question. */
export function received(parameters: Parameters, given: Given): Given {
  return withContents(parameters, given, (value): Content => {
    const { name, text } = value as SentContent
    return { name, read: () => text }
  })
}

function withContents(
  parameters: Parameters,
  given: Given,
  change: (value: unknown) => unknown,
): Given {
  const isContent = (name: string): boolean => 'types' in (parameters[name] ?? {})
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, isContent(name) ? change(value) : value]),
  )
}
