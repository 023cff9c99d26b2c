import { answerFrom, raw, type Call } from './http.ts'
import type { Operation } from './openapi-document.ts'

export type Asks = Readonly<{
  headers?: Record<string, string>
  /** In place of the documented example. */
  body?: string | object
  /** The text after the path; '' by default. */
  query?: string
  /** The value of every parameter of a path; 1 by default. */
  id?: number | string
}>

/** Asks some operations once each, with the first documented example; gives the statuses that come. */
export async function askAll(
  call: Call,
  operations: readonly Operation[],
  { headers = {}, body, query = '', id = 1 }: Asks = {},
): Promise<number[]> {
  const answers = operations.map((operation) => {
    const [example] = body === undefined ? examplesOf(operation) : []
    const type = example ? { 'content-type': example.type } : {}
    const target = targetOf(operation, id) + query
    return call(operation.method, target, body ?? example?.value, { ...type, ...headers })
  })
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  return [...new Set(statuses)].sort()
}

/** The documented examples of an operation's request, by their media types. */
export function examplesOf({ content }: Operation): { type: string; value: object | string }[] {
  return Object.entries(content).flatMap(([type, { examples = {} }]) =>
    Object.values(examples).map(({ value }) => ({ type, value })),
  )
}

/** The path of an operation, with an id for each of its parameters, or a plan or an upstream for its name. */
export function targetOf({ path }: Operation, id: number | string): string {
  return path
    .replace('/plans/{name}', '/plans/free')
    .replace('/upstreams/{name}', '/upstreams/animals')
    .replace(/\{\w+\}/g, String(id))
}

/**
 * A call that writes down its request as it is told: a version, then lines and what comes after. What
 * has come is the answer when the connection ends, or when nothing more has come for a while.
 */
export function writtenCall(url: string, version: string, lines: string, waitMs = 5_000): Call {
  return async (method, target) =>
    answerFrom(await raw(url, `${method} ${target} ${version}\r\n${lines}`, waitMs))
}
