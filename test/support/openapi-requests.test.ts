import t, { type Test } from 'tap'
import type { Operation } from './openapi-document.ts'
import { holdBodies, holdQueries } from './openapi-requests.ts'

t.test('a request that is not taken as it is documented is told', async (t) => {
  const size = { name: 'size', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 9 } }
  const all = { name: 'all', in: 'query', schema: { type: 'boolean' } }
  const schema = { required: ['id'], properties: { id: { type: 'integer' }, note: {} } }
  const operation: Operation = {
    ...{ method: 'PUT', path: '/things', isDeprecated: false, isOpen: false, responses: {} },
    command: undefined,
    role: undefined,
    parameters: [size],
    content: { 'application/json': { schema, examples: { one: { value: { id: 1, note: 'x' } } } } },
  }
  const told = async (status: (query: string, body: object) => number, isOnce = false) => {
    const named: string[] = []
    const ask = async (_method: string, target: string, body: string | object = '{') => {
      const read = typeof body === 'string' ? { unread: body } : body
      return { status: status(target.slice('/things'.length), read), headers: {}, text: '' }
    }
    const equal = (found: unknown, wanted: unknown, name: string) =>
      void (found === wanted || named.push(name))
    const test = {
      ...{ equal, ok: (found: unknown, name: string) => equal(found, true, name) },
      strictSame: (one: string[], two: string[], name: string) =>
        equal(one.join(), two.join(), name),
    } as unknown as Test
    const asked = { ask, operation, target: '/things' }
    await holdQueries(test, asked, [size, all])
    await holdBodies(test, asked, isOnce)
    return named
  }
  const well = (query: string, body: object): number => {
    if (query !== '') return /^\?size=[1-9]$/.test(query) ? 200 : 400
    return 'id' in body && Number.isInteger(body.id) ? 200 : 400
  }
  t.strictSame(await told(well), [])
  t.strictSame(await told((query, body) => (query === '?size=9' ? 400 : well(query, body))), [
    'PUT /things?size=9',
  ])
  t.strictSame(await told((query, body) => (query === '?all=true' ? 200 : well(query, body))), [
    'PUT /things?all=true',
  ])
  t.strictSame(await told((query, body) => ('note' in body ? well(query, body) : 400)), [
    ...['PUT /things?size=1', 'PUT /things?size=9'],
    'PUT /things {"id":1} is fine: 400',
  ])
  const careless = await told((query, body) => (query === '' ? 200 : well(query, body)), true)
  t.ok(careless.includes('PUT /things {"note":"x"} is not: 200'))
  t.ok(careless.includes('PUT /things {"id":"x","note":"x"} is not: 200'))
  t.ok(careless.includes('PUT /things {"unheardOf":1}'))
})
