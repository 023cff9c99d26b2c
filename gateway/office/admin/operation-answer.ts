import type { FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { Listed } from '../operations/listed.ts'
import type { Outcome } from '../operations/operation.ts'
import { Written } from '../operations/written.ts'
import type { Form } from '../thread/messages.ts'

/** Answers with an outcome, in the form that the request accepts. */
export async function answer(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { isSilent = false }: Readonly<{ isSilent?: boolean }>,
  { json, csv, file, location }: Outcome,
): Promise<FastifyReply> {
  if (isSilent) return reply.code(204).send()
  if (csv && formOf({ headers }, { hasCsv: true }) === 'csv') {
    const text = csv()
    return reply.type(types.csv).send(typeof text === 'string' ? text : await begun(text))
  }
  if (file) {
    void reply.header('cache-control', 'no-store').header('etag', file.tag)
    if (!headers.accept?.startsWith('application/json')) {
      return reply.type(file.type).send(file.text)
    }
  }
  if (location !== undefined) void reply.code(201).header('location', location)
  const value = json()
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
  { hasCsv }: Readonly<{ hasCsv: boolean }>,
): Form {
  return hasCsv && headers.accept?.startsWith('text/csv') ? 'csv' : 'json'
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
