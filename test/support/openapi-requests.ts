import type { Test } from 'tap'
import type { Call } from './http.ts'
import { examplesOf } from './openapi-asks.ts'
import { isObject, type Operation, type Parameter } from './openapi-document.ts'
import { requestFaults } from './openapi-faults.ts'

/** An operation that can be asked again and again at some target. */
export type Asked = Readonly<{ ask: Call; operation: Operation; target: string }>

/**
 * Asks with each of some parameters, at the edges of what it may be and beyond. It must be taken
 * where the operation has it, and be a 400 where not.
 */
export async function holdQueries(
  t: Test,
  { ask, operation, target }: Asked,
  known: readonly Parameter[],
): Promise<void> {
  const { method, parameters } = operation
  for (const parameter of known) {
    const own = parameters.find(({ name }) => name === parameter.name)
    // Another operation has one of the same name that may be something else.
    if (own && JSON.stringify(own.schema) !== JSON.stringify(parameter.schema)) continue
    for (const { value, isFine } of valuesOf(parameter)) {
      const query = `?${parameter.name}=${value}`
      const expected = isFine && own !== undefined
      const { status } = await ask(method, target + query)
      t.equal(status, expected ? 200 : 400, `${method} ${target}${query}`)
    }
  }
}

function valuesOf({ schema, example = 'x' }: Parameter): { value: string; isFine: boolean }[] {
  const { type, minimum, maximum, enum: words, pattern } = schema
  const fine = (value: unknown) => ({ value: String(value), isFine: true })
  const bad = (value: unknown) => ({ value: String(value), isFine: false })
  if (type === 'boolean') return [fine(true), fine(false), bad('yes')]
  if (words) return [...(words as unknown[]).map(fine), bad('x')]
  if (pattern !== undefined) return [fine(example), bad('x'), bad('%00')]
  if (typeof minimum !== 'number' || typeof maximum !== 'number') return [fine(example)]
  return [fine(minimum), fine(maximum), bad(minimum - 1), bad(maximum + 1), bad('x')]
}

/**
 * Asks with bodies of JSON that are like the documented examples but for one member. What is not
 * documented must be a 400; where only a member is missing, what is documented must be taken, unless
 * it can be asked for once only.
 */
export async function holdBodies(
  t: Test,
  { ask, operation, target }: Asked,
  isOnce = false,
): Promise<void> {
  const { method, path, content } = operation
  const type = 'application/json'
  const values: unknown[] = examplesOf(operation).map(({ value }) => value)
  const examples = values.filter(isObject)
  const properties = content[type]?.schema['properties']
  const members = isObject(properties) ? Object.keys(properties) : []
  const used = new Set(examples.flatMap((example) => Object.keys(example)))
  const named = `${method} ${path}`
  t.strictSame([...used].sort(), members.sort(), `${named}: all have examples`)
  for (const [body, isWhole] of examples.flatMap(variationsOf)) {
    const isFine = requestFaults(operation, '', body, type).length === 0
    if (isFine && (isWhole || isOnce)) continue
    const { status } = await ask(method, target, body)
    const expected = isFine ? status < 300 : status === 400
    t.ok(expected, `${named} ${JSON.stringify(body)} is ${isFine ? 'fine' : 'not'}: ${status}`)
  }
  for (const body of ['{', '[]', '{"unheardOf":1}']) {
    t.equal((await ask(method, target, body)).status, 400, `${named} ${body}`)
  }
}

/** Bodies that are like an example but for a member, and whether none is missing. */
function variationsOf(example: Record<string, unknown>): [body: object, isWhole: boolean][] {
  const odd = [null, true, 5, '', 'x', [], {}, ['x']]
  const members = Object.entries(example)
  return members.flatMap(([name]) => {
    const others = Object.fromEntries(members.filter(([each]) => each !== name))
    const oddOnes = odd.map((value): [object, boolean] => [{ ...example, [name]: value }, true])
    return [[others, false], ...oddOnes]
  })
}
