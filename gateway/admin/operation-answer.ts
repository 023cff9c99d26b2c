import type { FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { Listed } from '../operations/listed.ts'
import type { Outcome } from '../operations/operation.ts'

/** Answers with an outcome, in the form that the request accepts. */
export async function answer(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { isSilent = false }: Readonly<{ isSilent?: boolean }>,
  { json, csv, file, location }: Outcome,
): Promise<FastifyReply> {
  if (isSilent) return reply.code(204).send()
  if (csv && headers.accept?.startsWith('text/csv')) {
    const text = csv()
    const body = typeof text === 'string' ? text : await begun(text)
    return reply.type('text/csv; charset=utf-8').send(body)
  }
  if (file) {
    void reply.header('cache-control', 'no-store').header('etag', file.tag)
    if (!headers.accept?.startsWith('application/json')) {
      return reply.type(file.type).send(file.text)
    }
  }
  if (location !== undefined) void reply.code(201).header('location', location)
  const value = json()
  if (!(value instanceof Listed)) return reply.send(value)
  return reply.type('application/json; charset=utf-8').send(await begun(value.json()))
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
