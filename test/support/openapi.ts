import type { Test } from 'tap'
import { pathExpression } from '../../gateway/front/http/paths.ts'
import type { Answer, Call } from './http.ts'
import { readOperations, type Operation } from './openapi-document.ts'
import {
  bodyFaults,
  deprecationFaults,
  headerFaults,
  mediaType,
  requestFaults,
} from './openapi-faults.ts'
import { codesOf, Seen } from './openapi-seen.ts'

/** An OpenAPI document that the answers of running services are held against, both ways. */
export type Contract = Readonly<{
  operations: readonly Operation[]
  /** Every code that a documented refusal can have. */
  codes: ReadonlySet<string>
  /**
   * The differences of an answer and its request from the document; none if all is as documented. A body of the request
   * is JSON unless `type` says otherwise.
   */
  check: (method: string, target: string, answer: Answer, body?: unknown, type?: string) => string[]
  /** A call that fails its test for each answer that is not as documented. */
  held: (t: Test, call: Call) => Call
  /** Documented parts that never occurred: statuses, types of bodies and their members, codes, headers. */
  unseen: () => string[]
}>

/** Reads an OpenAPI document, and remembers what of it was seen. */
export function contractOf(file: string): Contract {
  const operations = readOperations(file)
  const find = finderOf(operations)
  const seen = new Seen()

  const check: Contract['check'] = (method, target, answer, body, type = 'application/json') => {
    const [path = '', query = ''] = target.split('?', 2)
    const operation = find(method, path)
    if (!operation) return [`${method} ${path} is not documented`]
    const { responses } = operation
    const name = `${method} ${operation.path} ${answer.status}`
    const status = answer.status in responses ? String(answer.status) : 'default'
    const response = responses[status]
    if (!response) return [`${name} is not documented`]
    seen.add(operation, status, response, answer)
    return [
      ...headerFaults(response, answer),
      // A request that was refused unread can't be known to be for a deprecated operation.
      ...(status === 'default' ? [] : deprecationFaults(operation, answer)),
      ...bodyFaults(operation, response, answer),
      ...(answer.status < 300 ? requestFaults(operation, query, body, type) : []),
    ].map((fault) => `${name}: ${fault}`)
  }

  return {
    operations,
    codes: new Set(
      operations.flatMap(({ responses }) => Object.values(responses).flatMap(codesOf)),
    ),
    check,
    held: (t, call) => async (method, target, body, headers) => {
      const answer = await call(method, target, body, headers)
      const type = headers && mediaType({ headers })
      const faults = check(method, target, answer, body, type)
      if (faults.length > 0) t.fail(faults.join('; '))
      return answer
    },
    unseen: () => seen.missingOf(operations),
  }
}

/** Finds the operation of a request; a path without parameters goes before one that has some. */
function finderOf(operations: readonly Operation[]) {
  const parameters = ({ path }: Operation): number => path.split('{').length
  const known = operations
    .toSorted((one, other) => parameters(one) - parameters(other))
    .map((operation) => ({ operation, expression: pathExpression(operation.path) }))
  return (method: string, path: string): Operation | undefined =>
    known.find((each) => each.operation.method === method && each.expression.test(path))?.operation
}
