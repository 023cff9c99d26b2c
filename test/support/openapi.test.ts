import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Answer } from './http.ts'
import { contractOf } from './openapi.ts'
import { lintFaults } from './openapi-lint.ts'
import { folderOf } from './folder.ts'

const document = `
openapi: 3.1.1
paths:
  /things/{id}:
    get:
      deprecated: true
      parameters:
        - { name: size, in: query, schema: { type: integer, maximum: 9 } }
      responses: &answers
        '200':
          headers:
            X-Left: { $ref: '#/components/headers/Left' }
            Deprecation: { schema: { type: string } }
            Link: { schema: { pattern: '^<' } }
          content:
            application/json: { schema: { $ref: '#/components/schemas/Thing' } }
            text/csv: { schema: { type: string } }
        '404': { $ref: '#/components/responses/NotFound' }
    head: { deprecated: true, responses: *answers }
    put:
      requestBody:
        content:
          application/json: { schema: { $ref: '#/components/schemas/Thing' } }
          text/csv: { schema: { type: string } }
      responses: { '204': { description: Done. } }
  /things/mine:
    get: { responses: { default: { $ref: '#/components/responses/NotFound' } } }
components:
  headers: { Left: { required: true, schema: { type: integer, minimum: 0 } } }
  schemas:
    Thing:
      allOf:
        - { type: object, required: [id], properties: { id: { type: integer } } }
        - properties:
            at: { type: string, format: date-time }
            parts: { type: array, items: { properties: { name: { type: string } } } }
  responses:
    NotFound:
      headers: { Deprecation: { schema: { type: string } } }
      content:
        application/json:
          schema: { properties: { code: { enum: [lost, never] }, status: { type: integer } } }
`

function contract(t: Test) {
  return contractOf(join(folderOf(t, { 'a.yaml': document }), 'a.yaml'))
}

const thing: Answer = {
  status: 200,
  headers: {
    'content-type': 'application/json; charset=utf-8',
    'x-left': '3',
    deprecation: '@1',
    link: ['</a>', '</b>'],
  },
  text: '{"id":1,"at":"2026-11-20T09:30:00Z","parts":[{"name":"a"}]}',
}
const lost = { ...thing, status: 404, text: '{"code":"lost","status":404}' }
const done: Answer = { status: 204, headers: {}, text: '' }

function withHeaders(headers: Answer['headers'], answer = thing): Answer {
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

t.test('what is as documented has no fault', (t) => {
  const { check } = contract(t)
  const bare = withHeaders({ link: undefined, 'x-left': undefined }, lost)
  t.strictSame(check('GET', '/things/7?size=9', thing), [])
  t.strictSame(check('HEAD', '/things/7', { ...thing, text: '' }), [])
  t.strictSame(check('PUT', '/things/7', done, { id: 7 }), [])
  t.strictSame(check('GET', '/things/7', bare), [])
  t.strictSame(check('GET', '/things/mine', { ...bare, headers: { ...bare.headers } }), [])
  t.strictSame(check('GET', '/things/7', { ...bare, text: '{"code":"lost"}' }), [])
  t.end()
})

t.test('what is not as documented is told, with its operation and status', (t) => {
  const { check } = contract(t)
  const get = 'GET /things/{id}'
  const told = (method: string, target: string, answer: Answer, fault: string, body?: unknown) => {
    t.strictSame(check(method, target, answer, body), [fault])
  }
  const of200 = (change: Partial<Answer>, fault: string) =>
    told('GET', '/things/7', { ...thing, ...change }, `${get} 200: ${fault}`)
  const headed = (headers: Answer['headers'], fault: string) => of200(withHeaders(headers), fault)

  told('GET', '/other', thing, 'GET /other is not documented')
  told('GET', '/things/7/x', thing, 'GET /things/7/x is not documented')
  told('POST', '/things/7', thing, 'POST /things/7 is not documented')
  told('GET', '/things/7', { ...thing, status: 201 }, `${get} 201 is not documented`)
  headed({ 'x-left': undefined }, 'the header X-Left is missing')
  headed({ 'x-left': ['3', '3'] }, 'the header X-Left came more than once')
  headed({ 'x-left': '3.5' }, 'the header X-Left must be integer {"type":"integer"}')
  headed({ link: '/a' }, 'the header Link must match pattern "^<" {"pattern":"^<"}')
  headed({ 'x-powered-by': 'x' }, 'the header x-powered-by is not documented')
  headed({ deprecation: undefined }, 'it does not say that it is deprecated')
  headed({ 'content-type': 'text/html' }, 'the content type text/html is not documented')
  headed({ 'content-type': undefined }, 'the content type none is not documented')
  of200({ text: '{' }, 'the body is no JSON: {')
  of200({ text: '{"id":"1"}' }, 'the body/id must be integer {"type":"integer"}')
  of200(
    { text: '{"id":1,"at":"noon"}' },
    'the body/at must match format "date-time" {"format":"date-time"}',
  )
  of200({ text: '{}' }, `the body must have required property 'id' {"missingProperty":"id"}`)
  of200(
    { text: '{"id":1,"secret":2}' },
    'the body must NOT have unevaluated properties {"unevaluatedProperty":"secret"}',
  )
  told('HEAD', '/things/7', thing, 'HEAD /things/{id} 200: an answer to HEAD has a body')
  const other = { ...lost, headers: withHeaders({ 'x-left': undefined, link: undefined }).headers }
  told(
    'GET',
    '/things/7',
    { ...other, text: '{"code":"other","status":404}' },
    `${get} 404: the body/code must be equal to one of the allowed values {"allowedValues":["lost","never"]}`,
  )
  told(
    'GET',
    '/things/7',
    { ...other, text: '{"code":"lost","status":400}' },
    `${get} 404: the status in the body is another`,
  )
  told('GET', '/things/7?x=1', thing, `${get} 200: the parameter x is not documented`)
  told(
    'GET',
    '/things/7?size=10',
    thing,
    `${get} 200: the parameter size must be <= 9 {"comparison":"<=","limit":9}`,
  )
  const put = 'PUT /things/{id} 204'
  told('PUT', '/things/7', { ...done, text: 'x' }, `${put}: a body is not documented`)
  t.strictSame(check('PUT', '/things/7', withHeaders({ deprecation: '@1' }, done)), [
    `${put}: the header deprecation is not documented`,
    `${put}: it says that it is deprecated`,
  ])
  told('PUT', '/things/7', done, `${put}: the request/id must be integer {"type":"integer"}`, {
    id: '7',
  })
  const undocumented = 'a body of the request is not documented as application/json'
  told('GET', '/things/7', thing, `${get} 200: ${undocumented}`, {})
  const csv = `${put}: the request must be string {"type":"string"}`
  t.strictSame(check('PUT', '/things/7', done, 'id\n7', 'text/csv'), [])
  t.strictSame(check('PUT', '/things/7', done, { id: 7 }, 'text/csv'), [csv])
  t.strictSame(check('PUT', '/things/7', done, '7', 'text/xml'), [
    `${put}: a body of the request is not documented as text/xml`,
  ])
  t.end()
})

t.test('what never came is told', (t) => {
  const { check, unseen, codes } = contract(t)
  t.strictSame([...codes], ['lost', 'never'])
  t.strictSame(unseen(), [
    'GET /things/{id} 200',
    'GET /things/{id} 404',
    'HEAD /things/{id} 200',
    'HEAD /things/{id} 404',
    'PUT /things/{id} 204',
    'GET /things/mine default',
  ])
  check('GET', '/things/7', withHeaders({ link: undefined }))
  check('HEAD', '/things/7', { ...thing, text: '' })
  check('PUT', '/things/7', done)
  check('HEAD', '/things/7', withHeaders({ deprecation: undefined }, lost))
  check('HEAD', '/things/7', withHeaders({ 'content-type': 'text/csv' }, { ...thing, text: '' }))
  t.strictSame(unseen(), [
    'GET /things/{id} 200 text/csv',
    'GET /things/{id} 200 Link',
    'GET /things/{id} 404',
    'HEAD /things/{id} 404 Deprecation',
    'GET /things/mine default',
  ])
  check('GET', '/things/mine', lost)
  check('GET', '/things/7', lost)
  t.strictSame(check('GET', '/things/7', withHeaders({ 'content-type': 'text/csv' })), [])
  t.strictSame(unseen(), ['GET /things/{id} 404 never', 'GET /things/mine default never'])
  t.end()
})

t.test('a member that never came is told, wherever it is', (t) => {
  const { check, unseen } = contract(t)
  const members = () => unseen().filter((name) => / 200 (at|id|parts)/.test(name))
  check('HEAD', '/things/7', { ...thing, text: '' })
  t.strictSame(members(), [])
  check('GET', '/things/7', { ...thing, text: '{"id":1}' })
  t.strictSame(members(), ['GET /things/{id} 200 at', 'GET /things/{id} 200 parts'])
  check('GET', '/things/7', { ...thing, text: '{"id":1,"parts":[{}]}' })
  t.strictSame(members(), ['GET /things/{id} 200 at', 'GET /things/{id} 200 parts.name'])
  check('GET', '/things/7', thing)
  t.strictSame(members(), [])
  t.end()
})

t.test('a call that is held to a document fails its test for an answer that is not', async (t) => {
  const told: string[] = []
  const { held } = contract(t)
  const test = { fail: (fault: string) => told.push(fault) } as unknown as Test
  let answer = thing
  const call = held(test, async () => answer)
  t.equal(await call('GET', '/things/7'), thing)
  answer = withHeaders({ 'x-left': undefined, link: '/' })
  t.equal(await call('GET', '/things/7'), answer)
  t.equal(told.length, 1)
  t.match(told[0], /^GET \/things\/{id} 200: the header X-Left is missing; GET .* the header Link/)
})

t.test('the linter tells of what refers to nothing, and of examples that are none', async (t) => {
  const told = async (from: string, to: string) => {
    const text = document.replace(from, to)
    t.not(text, document)
    return lintFaults(join(folderOf(t, { 'a.yaml': text }), 'a.yaml'))
  }
  t.match((await told('headers/Left', 'headers/Right')).join('\n'), /no-unresolved-refs/)
  t.match((await told('format: date-time', 'example: 7')).join('\n'), /no-invalid-schema-examples/)
  t.match(
    (await told('required: true', 'requird: true')).join('\n'),
    /`requird` is not expected.*\(struct\)/,
  )
})
