import type { FastifyInstance } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { hasBody } from '../../../shared/node/linger.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { isOf, type TSchema } from '../../../shared/schema.ts'
import { mistakesIn } from '../config/check.ts'
import { ConfigDocument } from '../config/document.ts'

/** The types of bodies, unless a route names others. */
export const jsonTypes = ['application/json']

/**
 * Takes bodies of some types as plain texts, which the handlers parse. Any other type is refused with a message that
 * lists these.
 */
export function takeTexts(app: FastifyInstance, types: readonly string[]): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>([...types], { parseAs: 'buffer' }, (_request, bytes, done) => {
    // In another encoding, names and notes would be stored with replacement characters.
    if (isUtf8(bytes)) done(null, bytes.toString())
    else done(new Refusal('invalid_request', 'The body isn’t in UTF-8.'))
  })
  app.addContentTypeParser('*', ({ raw }, _payload, done) => {
    if (!hasBody(raw)) return done(null, '')
    done(new Refusal('unsupported_media_type', `Send the body as ${types.join(' or ')}.`))
  })
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

/** A body as a text; empty if there is none. */
export function textOf(body: unknown): string {
  return typeof body === 'string' ? body : ''
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
