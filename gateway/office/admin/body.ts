import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { TextDecoder } from 'node:util'
import { hasBody } from '../../../shared/node/linger.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { isOf, type TSchema } from '../../../shared/schema.ts'
import { mistakesIn } from '../config/check.ts'
import { ConfigDocument } from '../config/document.ts'

/** The types of bodies, unless a route names others. */
export const jsonTypes = ['application/json']

/**
 * Takes bodies of some types as texts, which the handlers parse: in the pieces in which they come, because a long one would
 * hold callers up while it is put together. Any other type is refused with a message that lists these.
 */
export function takeTexts(app: FastifyInstance, types: readonly string[]): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser([...types], ({ raw, routeOptions }: FastifyRequest) =>
    readPieces(raw, routeOptions.bodyLimit),
  )
  app.addContentTypeParser('*', ({ raw }, _payload, done) => {
    if (!hasBody(raw)) return done(null, '')
    done(new Refusal('unsupported_media_type', `Send the body as ${types.join(' or ')}.`))
  })
}

async function readPieces(raw: IncomingMessage, mostBytes: number): Promise<readonly string[]> {
  const tooLarge = new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE()
  if (Number(raw.headers['content-length'] ?? 0) > mostBytes) throw tooLarge
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const pieces: string[] = []
  let bytes = 0
  // What is left of a refused body isn't the reader's: its sender is to get the answer.
  for await (const chunk of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > mostBytes) throw tooLarge
    pieces.push(decoded(decoder, chunk))
  }
  return [...pieces, decoded(decoder)]
}

/** In another encoding, names and notes would be stored with replacement characters. */
function decoded(decoder: TextDecoder, chunk?: Buffer): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined })
  } catch {
    throw new Refusal('invalid_request', 'The body isn’t in UTF-8.')
  }
}

/** Adds routes whose bodies have other types than those of the routes around them. */
export function addWithTypes(
  app: FastifyInstance,
  types: readonly string[],
  add: (app: FastifyInstance) => void,
): void {
  void app.register((inner, _options, done) => {
    takeTexts(inner, types)
    add(inner)
    done()
  })
}

/** The pieces of a body; none if there is none. */
export function piecesOf(body: unknown): readonly string[] {
  return Array.isArray(body) ? (body as readonly string[]) : []
}

/** A body as one text. */
export function textOf(body: unknown): string {
  return piecesOf(body).join('')
}

/** A text as a sentence: with a capital letter and a full stop. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`
}

/** Refuses a body that would be ignored; an empty one, or an empty object, is allowed. */
export function requireNothing(body: unknown): void {
  if (['', '{}'].includes(textOf(body).trim())) return
  throw new Refusal('invalid_request', 'This endpoint takes no body.')
}

/** The longest body whose mistakes are told one by one: a megabyte of them would take the loop for a second. */
const mostExplained = 32_768

/** The value of a JSON body. Throws a refusal with all its mistakes, or of a long body with what is expected. */
export function read(body: unknown, schema: TSchema & { expected?: string }): unknown {
  const text = textOf(body).trim() || '{}'
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
  const mistakes = mistakesIn(ConfigDocument.read(text), schema)
  const faults = mistakes.map((each) => each.sentence.replace(/^the file/, 'the body'))
  throw new Refusal('invalid_request', sentence(`this body can’t be taken: ${faults.join('; ')}`))
}
