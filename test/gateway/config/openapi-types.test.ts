import t from 'tap'
import { stringify } from 'yaml'
import { openapiFrom } from '../../../gateway/office/config/openapi.ts'

/** A document with everything that is read of one. */
const document = {
  openapi: '3.2.0',
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
      query: { requestBody: { $ref: '#/components/requestBodies/Asked' } },
      additionalOperations: { PURGE: { responses: { 204: { description: 'Gone' } } } },
      put: {
        requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
        responses: { default: { description: 'Done' } },
      },
    },
  },
  components: {
    parameters: { limit: { name: 'limit', in: 'query', schema: { type: 'integer' } } },
    responses: { None: { description: 'None' } },
    requestBodies: { Asked: { content: { 'application/json': { schema: { type: 'object' } } } } },
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

t.test('OpenAPI 3.2, Path Item Object: what isn’t understood is a mistake with its line', (t) => {
  const told = (version: string, members: string): unknown => {
    const text = `openapi: ${version}\ninfo: { title: Pets }\npaths:\n  /pets:\n${members}\n`
    return openapiFrom(text).faults.map(({ at, sentence }) => `${at} ${sentence}`)
  }
  t.strictSame(
    told('3.2.0', '    query: {}\n    additionalOperations: { PURGE: {}, M-SEARCH: {} }'),
    [],
  )
  t.strictSame(told('3.2.0', '    parameters: [{ name: all, in: querystring }]\n    x-own: 1'), [])
  t.strictSame(told('3.0.3', '    summary: Pets\n    servers: []\n    get: {}'), [])
  for (const [version, members, ...expected] of [
    [
      '3.3.0',
      '    get: {}',
      '1:10 openapi must be a version from 3.0 to 3.2, such as 3.1.0, got "3.3.0"',
    ],
    [
      '3.2.0',
      '    purge: {}\n    querry: {}\n    GET: {}',
      '5:12 paths./pets.purge isn’t a member of a path in OpenAPI: methods of your own belong into additionalOperations',
      '6:13 paths./pets.querry isn’t a member of a path in OpenAPI: did you mean query?',
      '7:10 paths./pets.GET isn’t a member of a path in OpenAPI: did you mean get?',
    ],
    [
      '3.2.0',
      '    additionalOperations:\n      POST: {}\n      a b: {}\n      LINK: 7',
      '6:13 paths./pets.additionalOperations.POST must be post, a member of the path itself',
      '7:12 paths./pets.additionalOperations.a b must be a method such as PURGE',
      '8:13 paths./pets.additionalOperations.LINK must be an operation',
    ],
    [
      '3.2.0',
      '    additionalOperations: []',
      '5:27 paths./pets.additionalOperations must be an object of operations',
    ],
    [
      '3.2.0',
      '    query:\n      parameters: [{ name: q, in: body }]',
      '6:35 paths./pets.query.parameters[0].in must be path, query, querystring, header, cookie, got "body"',
    ],
  ] as const) {
    t.strictSame(told(version, members), expected)
  }
  t.end()
})
