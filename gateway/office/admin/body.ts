import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { breathe } from '../../../shared/breathe.ts'
import { hasBody } from '../../../shared/node/linger.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { isOf, type AnySchema } from '../../../shared/schema.ts'
import { sentencesAbout } from '../config/check.ts'
import { sentence } from '../operations/refusal.ts'
import { ConfigDocument } from '../config/document.ts'
import { Blocks, contentFrom } from '../operations/content.ts'
import type { Content } from '../operations/parameter.ts'

/** The types of bodies, unless a route names others. */
export const jsonTypes = ['application/json']

/**
 * Takes bodies of some types as they come, which the handlers read: a long one would hold callers up. Any other type is
 * refused with a message that lists these.
 */
export function takeTexts(app: FastifyInstance, types: readonly string[]): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser([...types], ({ raw, routeOptions }: FastifyRequest) =>
    readBlocks(raw, routeOptions.bodyLimit),
  )
  app.addContentTypeParser('*', ({ raw }, _payload, done) => {
    if (!hasBody(raw)) return done(null, '')
    done(new Refusal('unsupported_media_type', `Send the body as ${types.join(' or ')}.`))
  })
}

async function readBlocks(raw: IncomingMessage, mostBytes: number): Promise<Blocks> {
  const tooLarge = new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE()
  if (Number(raw.headers['content-length'] ?? 0) > mostBytes) throw tooLarge
  const blocks = new Blocks()
  let bytes = 0
  // The rest of a refused body isn't the reader's: its sender is to get the answer.
  for await (const chunk of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > mostBytes) throw tooLarge
    blocks.add(chunk)
    // Otherwise a quick sender has 2 MB read in one turn of the loop.
    await breathe()
  }
  return blocks.end()
}

/** A body as a text; an empty one if there is none. */
export function contentOf(body: unknown): Content {
  return contentFrom('body', body instanceof Blocks ? body.all : [])
}

/** Refuses a body that would be ignored; an empty one, or an empty object, is allowed. */
export function requireNothing(body: unknown): void {
  if (['', '{}'].includes(contentOf(body).read().trim())) return
  throw new Refusal('invalid_request', 'This endpoint takes no body.')
}

/** The longest body whose mistakes are told one by one: a megabyte of them would take the loop for a second. */
const mostExplained = 32_768

/** The value of a JSON body. Throws a refusal with all its mistakes, or of a long body with what is expected. */
export function read(body: unknown, schema: AnySchema & { expected?: string }): unknown {
  const text = contentOf(body).read().trim() || '{}'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Refusal('invalid_request', 'The body isn’t valid JSON.')
  }
  if (isOf(schema, value)) return value
  if (text.length > mostExplained) {
    const must = `it must be ${schema.expected ?? 'something else'}`
    const why = 'the mistakes of a body over 32 KiB aren’t told one by one'
    throw new Refusal('invalid_request', sentence(`this body can’t be taken: ${must}; ${why}`))
  }
  // JSON is YAML, so the check of configurations works for bodies.
  const faults = sentencesAbout(new ConfigDocument(text), schema, 'the body')
  throw new Refusal('invalid_request', sentence(`this body can’t be taken: ${faults}`))
}
