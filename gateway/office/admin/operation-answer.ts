import type { FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import type { GatewayContext } from '../operations/context.ts'
import { Listed } from '../operations/listed.ts'
import { forPrograms, type Operation } from '../operations/operation.ts'
import { Written } from '../operations/written.ts'
import type { Form } from '../thread/messages.ts'

/** An operation that the admin API has. */
export type Served = Extract<Operation, { at: unknown }>

/** Answers with the result of an operation, in the form that the request accepts. */
export async function answer(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  operation: Served,
  context: GatewayContext,
  result: unknown,
): Promise<FastifyReply> {
  if (operation.isSilent) return reply.code(204).send()
  if (operation.csv && formOf({ headers }, operation) === 'csv') {
    const text = operation.csv(result)
    return reply.type(types.csv).send(typeof text === 'string' ? text : await begun(text))
  }
  const file = operation.file?.(result)
  if (file) {
    void reply.header('cache-control', 'no-store').header('etag', file.tag)
    if (!headers.accept?.startsWith('application/json')) {
      return reply.type(file.type).send(file.text)
    }
  }
  const location = operation.location?.(result)
  if (location !== undefined) void reply.code(201).header('location', location)
  const value = forPrograms(operation, result, context)
  if (value instanceof Written) return reply.type(types.json).send(value.bytes)
  if (!(value instanceof Listed)) return reply.send(value)
  return reply.type(types.json).send(await begun(value.json()))
}

/** The media types of the forms. */
export const types: Readonly<Record<Form, string>> = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
}

/** The form of a result that a request accepts. */
export function formOf(
  { headers }: Pick<FastifyRequest, 'headers'>,
  { csv }: Pick<Served, 'csv'>,
): Form {
  return csv && headers.accept?.startsWith('text/csv') ? 'csv' : 'json'
}

/** Texts as a stream. A failure before the first text rejects; a later one breaks the stream off. */
async function begun(texts: AsyncGenerator<string, void>): Promise<Readable> {
  const first = await texts.next()
  const all = async function* () {
    if (!first.done) yield first.value
    yield* texts
  }
  return Readable.from(all())
}
