import type { FastifyInstance } from 'fastify'
import type { Static, TSchema } from 'typebox'
import Value from 'typebox/value'
import { Refusal } from '../../shared/refusal.ts'
import { mistakesIn } from '../config/check.ts'
import { ConfigDocument } from '../config/document.ts'

/** Bodies are read by those who know what must be in them. */
export function takeTexts(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const types = ['application/json', 'text/plain', 'text/csv', 'application/yaml', 'text/yaml']
  app.addContentTypeParser(types, { parseAs: 'string' }, (_request, text, done) => done(null, text))
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
