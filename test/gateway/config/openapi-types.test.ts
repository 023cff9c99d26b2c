import t from 'tap'
import { stringify } from 'yaml'
import { openapiFrom } from '../../../gateway/office/config/openapi.ts'

/** A document with everything that is read of one. */
const document = {
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1', description: 'All of them', contact: { email: 'a@b.test' } },
  servers: [{ url: 'https://{host}/v1', variables: { host: { default: 'x.test', enum: ['x'] } } }],
  tags: [{ name: 'pets', description: 'Pets' }],
  paths: {
    '/pets/{id}': {
      summary: 'A pet',
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
      get: {
        operationId: 'getPet',
        tags: ['pets'],
        deprecated: true,
        parameters: [{ $ref: '#/components/parameters/limit' }],
        responses: {
          200: {
            description: 'It',
            headers: { ETag: { schema: { type: 'string' } } },
            content: {
              'application/json': {
                schema: { $ref: '#/components/schemas/Pet' },
                examples: { a: { value: { id: 1 } } },
              },
            },
          },
          404: { $ref: '#/components/responses/None' },
        },
      },
      put: {
        requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
        responses: { default: { description: 'Done' } },
      },
    },
  },
  components: {
    parameters: { limit: { name: 'limit', in: 'query', schema: { type: 'integer' } } },
    responses: { None: { description: 'None' } },
    schemas: {
      Pet: {
        type: 'object',
        required: ['id'],
        properties: { id: { type: 'integer' }, tags: { type: 'array', items: { type: 'string' } } },
        allOf: [{ type: 'object' }],
        enum: [1, 'a'],
      },
    },
  },
  webhooks: { pet: { post: { responses: { 200: { description: 'Heard' } } } } },
}

/** Values of each type, in place of any member. */
const values: readonly unknown[] = [null, 7, 'a text', ['an item'], { a: 'member' }, true]

type Path = readonly string[]

function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  yield path
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) yield* pathsIn(member, [...path, name])
}

/** A copy with another value at a path. */
function withValue(whole: unknown, [step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value
  const copy: unknown = Array.isArray(whole) ? [...(whole as unknown[])] : { ...(whole as object) }
  Reflect.set(copy as object, step, withValue(Reflect.get(whole as object, step), rest, value))
  return copy
}

t.test('a document with a wrong type anywhere is shown, or has a mistake with its place', (t) => {
  t.strictSame(openapiFrom(JSON.stringify(document)).faults, [])
  let refused = 0
  for (const path of pathsIn(document)) {
    for (const value of values) {
      const wrong = withValue(document, path, value)
      for (const text of [JSON.stringify(wrong), stringify(wrong)]) {
        const about = `${JSON.stringify(value)} at ${path.join(' ')}: ${text.slice(0, 1)}`
        try {
          const { json, faults } = openapiFrom(text)
          if (json !== undefined) JSON.parse(json)
          else if (faults.every(({ at, sentence }) => at !== undefined && sentence !== ''))
            refused++
          else t.fail(about, { faults })
        } catch (error) {
          t.fail(about, { error })
        }
      }
    }
  }
  t.ok(refused > 100, `${refused} are refused`)
  t.end()
})
