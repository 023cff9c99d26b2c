import type { Test } from 'tap'
import { pathExpression } from '../../gateway/paths.ts'
import type { Answer, Call } from './http.ts'
import {
  isObject,
  readOperations,
  type DocumentedResponse,
  type Operation,
  type Schema,
} from './openapi-document.ts'
import {
  bodyFaults,
  deprecationFaults,
  headerFaults,
  mediaType,
  parsed,
  requestFaults,
} from './openapi-faults.ts'

/** An OpenAPI document that the answers of running services are held against, both ways. */
export type Contract = Readonly<{
  operations: readonly Operation[]
  /** Every code that a documented refusal can have. */
  codes: ReadonlySet<string>
  /**
   * What of an answer, and of the request that it answers, is not as documented: nothing if all is. A
   * body of the request is JSON unless told.
   */
  check: (method: string, target: string, answer: Answer, body?: unknown, type?: string) => string[]
  /** A call that fails its test for each answer that is not as documented. */
  held: (t: Test, call: Call) => Call
  /** What is documented and never came: statuses, types of bodies, codes of refusals, headers. */
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
      // What is refused before it could be read may not be known to be for a deprecated operation.
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

/** What has come of what is documented. */
class Seen {
  readonly #names = new Set<string>()
  readonly #headers = new Map<DocumentedResponse, Set<string>>()

  add(operation: Operation, status: string, response: DocumentedResponse, answer: Answer): void {
    const name = nameOf(operation, status)
    const body = parsed(answer.text)
    this.#names.add(name).add(`${name} ${mediaType(answer)}`)
    if (isObject(body)) this.#names.add(`${name} ${String(body['code'])}`)
    // A response that operations share has its headers for all of them.
    const headers = this.#headers.get(response) ?? new Set()
    for (const [header, value] of Object.entries(answer.headers)) if (value) headers.add(header)
    this.#headers.set(response, headers)
  }

  missingOf(operations: readonly Operation[]): string[] {
    const told = new Set<DocumentedResponse>()
    return operations.flatMap((operation) =>
      Object.entries(operation.responses).flatMap(([status, response]) => {
        const name = nameOf(operation, status)
        if (!this.#names.has(name)) return [name]
        const codes = operation.method === 'HEAD' ? [] : codesOf(response)
        const types = Object.keys(response.content ?? {})
        const headers = told.has(response) ? [] : Object.keys(response.headers ?? {})
        told.add(response)
        return [
          ...[...types, ...codes].filter((each) => !this.#names.has(`${name} ${each}`)),
          ...headers.filter((header) => !this.#headers.get(response)?.has(header.toLowerCase())),
        ].map((missing) => `${name} ${missing}`)
      }),
    )
  }
}

function nameOf({ method, path }: Operation, status: string): string {
  return `${method} ${path} ${status}`
}

/** The codes that a refusal can have; none for an answer that is no refusal. */
function codesOf({ content = {} }: DocumentedResponse): string[] {
  return Object.values(content).flatMap(({ schema }) => codesIn(schema))
}

function codesIn({ properties, allOf }: Schema): string[] {
  const code = isObject(properties) ? properties['code'] : undefined
  const listed = isObject(code) && Array.isArray(code['enum']) ? code['enum'].map(String) : []
  const parts = Array.isArray(allOf) ? allOf.filter(isObject) : []
  return [...listed, ...parts.flatMap(codesIn)]
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
