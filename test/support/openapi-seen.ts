import type { Answer } from './http.ts'
import {
  isObject,
  type DocumentedResponse,
  type Operation,
  type Schema,
} from './openapi-document.ts'
import { mediaType, parsed } from './openapi-faults.ts'

/** Notes which documented parts have occurred. */
export class Seen {
  readonly #names = new Set<string>()
  readonly #headers = new Map<DocumentedResponse, Set<string>>()
  readonly #members = new Map<Schema, Set<string>>()

  add(operation: Operation, status: string, response: DocumentedResponse, answer: Answer): void {
    const name = nameOf(operation, status)
    const body = parsed(answer.text)
    this.#names.add(name).add(`${name} ${mediaType(answer)}`)
    if (isObject(body)) this.#names.add(`${name} ${String(body['code'])}`)
    this.#addMembers(response.content?.[mediaType(answer) ?? '']?.schema, body)
    // A response that operations share has its headers for all of them.
    const headers = this.#headers.get(response) ?? new Set()
    for (const [header, value] of Object.entries(answer.headers)) if (value) headers.add(header)
    this.#headers.set(response, headers)
  }

  #addMembers(schema: Schema | undefined, value: unknown): void {
    for (const part of partsOf(schema)) {
      if (Array.isArray(value)) for (const item of value) this.#addMembers(itemOf(part), item)
      if (!isObject(value)) continue
      for (const [member, each] of membersOf(part)) {
        if (!(member in value)) continue
        this.#members.set(part, (this.#members.get(part) ?? new Set()).add(member))
        this.#addMembers(each, value[member])
      }
    }
  }

  /** The members of a schema that never occurred, each once, whatever the number of references. */
  #missingMembers(schema: Schema | undefined, told: Set<unknown>): string[] {
    return partsOf(schema).flatMap((part) => {
      if (told.has(part)) return []
      told.add(part)
      const members = membersOf(part).map(([member, each]) =>
        this.#members.get(part)?.has(member)
          ? this.#missingMembers(each, told).map((name) => `${member}.${name}`)
          : [member],
      )
      return [...members.flat(), ...this.#missingMembers(itemOf(part), told)]
    })
  }

  missingOf(operations: readonly Operation[]): string[] {
    const told = new Set<unknown>()
    return operations.flatMap((operation) =>
      Object.entries(operation.responses).flatMap(([status, response]) => {
        const name = nameOf(operation, status)
        if (!this.#names.has(name)) return [name]
        const codes = operation.method === 'HEAD' ? [] : codesOf(response)
        const types = Object.keys(response.content ?? {})
        const headers = told.has(response) ? [] : Object.keys(response.headers ?? {})
        told.add(response)
        const schemas = operation.method === 'HEAD' ? [] : Object.values(response.content ?? {})
        return [
          ...[...types, ...codes].filter((each) => !this.#names.has(`${name} ${each}`)),
          ...headers.filter((header) => !this.#headers.get(response)?.has(header.toLowerCase())),
          ...schemas.flatMap(({ schema }) => this.#missingMembers(schema, told)),
        ].map((missing) => `${name} ${missing}`)
      }),
    )
  }
}

/** A schema and all that it is put together from. */
function partsOf(schema: unknown): Schema[] {
  if (!isObject(schema)) return []
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((name) => schema[name] ?? [])
  return [schema, ...parts.flatMap(partsOf)]
}

function membersOf({ properties }: Schema): [string, Schema][] {
  return isObject(properties) ? (Object.entries(properties) as [string, Schema][]) : []
}

function itemOf({ items }: Schema): Schema | undefined {
  return isObject(items) ? items : undefined
}

function nameOf({ method, path }: Operation, status: string): string {
  return `${method} ${path} ${status}`
}

/** The codes that a refusal can have; empty for other answers. */
export function codesOf({ content = {} }: DocumentedResponse): string[] {
  return Object.values(content).flatMap(({ schema }) => codesIn(schema))
}

function codesIn({ properties, allOf }: Schema): string[] {
  const code = isObject(properties) ? properties['code'] : undefined
  const listed = isObject(code) && Array.isArray(code['enum']) ? code['enum'].map(String) : []
  const parts = Array.isArray(allOf) ? allOf.filter(isObject) : []
  return [...listed, ...parts.flatMap(codesIn)]
}
