import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { asError } from '../shared/as-error.ts'
import { parseJsonObject, shown, type JsonObject } from '../shared/json.ts'
import { Refusal } from '../shared/refusal.ts'
import { checkerOf, isOf, type ObjectSchema, type Static } from '../shared/schema.ts'

const byteOrderMark = /^\ufeff/

/** Checks the bytes of a body before they are parsed; throws a refusal. */
export type LookAtBytes = (request: FastifyRequest, bytes: Buffer) => void

/** Makes an app read JSON bodies with their whole numbers exact; everything else is a 415. */
export function readJsonExactly(app: FastifyInstance, look: LookAtBytes = () => undefined): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'buffer' },
    (request, bytes, done) => {
      try {
        look(request, bytes)
        done(null, jsonFrom(request.headers['content-type'], bytes))
      } catch (error) {
        done(asError(error))
      }
    },
  )
}

/** Reads the members that a schema names, or refuses with a sentence that names the wrong one. */
export function bodyReader<Schema extends ObjectSchema>(
  schema: Schema,
): (body: unknown) => Static<Schema> {
  const isSound = checkerOf(schema)
  return (body) => {
    if (!isJsonObject(body)) throw new Refusal('invalid_request', 'Send a JSON object as the body.')
    if (isSound(body.members)) return body.members
    throw new Refusal('invalid_request', firstFault(schema, body))
  }
}

function jsonFrom(contentType: string | undefined, bytes: Buffer): JsonObject | undefined {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType ?? '')?.[1]
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
    throw new Refusal('unsupported_media_type', `JSON is UTF-8 here, not ${shown(charset)}.`)
  }
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw new Refusal('invalid_request', 'The body is not valid UTF-8.')
  try {
    return parseJsonObject(bytes.toString().replace(byteOrderMark, ''))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Refusal('invalid_request', error.message, {}, error)
  }
}

function isJsonObject(body: unknown): body is JsonObject {
  return typeof body === 'object' && body !== null && 'members' in body && 'source' in body
}

/** A sentence about the first member, in the schema's order, that differs from the schema's `expected`. */
function firstFault(schema: ObjectSchema, { members, source }: JsonObject): string {
  const required = new Set(schema.required ?? [])
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = source.get(name)
    const expected = String(Reflect.get(property, 'expected'))
    if (value === undefined) {
      if (required.has(name)) return `${name} is missing: it must be ${expected}.`
    } else if (!isOf(property, members[name])) {
      return `${name} must be ${expected}, got ${cut(value)}.`
    }
  }
  return 'The body is not as the interface describes it.'
}

/** The sender's JSON, cut if it is long. */
function cut(json: string): string {
  return json.length > 40 ? `${json.slice(0, 40)}…` : json
}
