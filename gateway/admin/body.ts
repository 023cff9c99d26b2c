import type { FastifyInstance } from 'fastify'
import Type, { type Static, type TSchema } from 'typebox'
import { isUtf8 } from 'node:buffer'
import Value from 'typebox/value'
import { hasBody } from '../../shared/node/linger.ts'
import { Refusal } from '../../shared/refusal.ts'
import { mistakesIn } from '../config/check.ts'
import { ConfigDocument } from '../config/document.ts'
import type { Kind } from '../operations/values.ts'

/** What bodies are of, unless their routes say otherwise. */
export const jsonTypes = ['application/json']

/**
 * Takes bodies of some types as texts, for those to read who know what must be in them; who sends
 * another is told which.
 */
export function takeTexts(app: FastifyInstance, types: readonly string[]): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>([...types], { parseAs: 'buffer' }, (_request, bytes, done) => {
    // Of what is in another encoding, names and notes would be kept with holes in them.
    if (isUtf8(bytes)) done(null, bytes.toString())
    else done(new Refusal('invalid_request', 'The body is not in UTF-8.'))
  })
  app.addContentTypeParser('*', ({ raw }, _payload, done) => {
    if (!hasBody(raw)) return done(null, '')
    done(new Refusal('unsupported_media_type', `Send the body as ${types.join(' or ')}.`))
  })
}

/** Adds routes whose bodies are of other types than those of the routes around them. */
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

/** A text that says a value of a kind. */
export function textKind({ mayBe, read }: Kind<unknown>) {
  return Type.Refine(
    Type.String({ expected: mayBe }),
    (value) => read(value) !== undefined,
    () => `must be ${mayBe}`,
  )
}

/** A body as a text; empty if there is none. */
export function textOf(body: unknown): string {
  return typeof body === 'string' ? body : ''
}

/** A text as a sentence: it begins large and has an end. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`
}

/** Refuses a body where it would not be heeded; an empty object says nothing. */
export function requireNothing(body: unknown): void {
  if (['', '{}'].includes(textOf(body).trim())) return
  throw new Refusal('invalid_request', 'A body says nothing here: send none.')
}

/** What a body of JSON says, or a refusal that tells everything that is wrong with it. */
export function read<Schema extends TSchema>(body: unknown, schema: Schema): Static<Schema> {
  const text = textOf(body).trim() || '{}'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Refusal('invalid_request', 'The body is no JSON.')
  }
  if (Value.Check(schema, value)) return value
  // JSON is YAML: what finds mistakes in configurations finds them here.
  const mistakes = mistakesIn(new ConfigDocument(text), schema)
  const faults = mistakes.map((each) => each.sentence.replace(/^the file/, 'the body'))
  throw new Refusal('invalid_request', sentence(`this body can’t be taken: ${faults.join('; ')}`))
}
