import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

export type Schema = Readonly<Record<string, unknown>>
export type Header = Readonly<{ required?: boolean; schema: Schema }>
export type Parameter = Readonly<{ name: string; in: string; schema: Schema; example?: string }>

/** Bodies by their media types. */
export type Content = Readonly<
  Record<
    string,
    Readonly<{ schema: Schema; examples?: Record<string, { value: object | string }> }>
  >
>

export type DocumentedResponse = Readonly<{
  headers?: Readonly<Record<string, Header>>
  content?: Content
}>

export type Operation = Readonly<{
  method: string
  /** Its parameters are in it as `{name}`. */
  path: string
  isDeprecated: boolean
  /** Whether anybody may ask for it, unlike others. */
  isOpen: boolean
  /** The command that does the same, and the role that it needs. */
  command: string | undefined
  role: string | undefined
  parameters: readonly Parameter[]
  /** The bodies that a request may have; left out without a body. */
  content: Content
  /** By status, or `default`. */
  responses: Readonly<Record<string, DocumentedResponse>>
}>

const methods = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace']

/** The operations of a document by its lines alone: to read all of ours takes most of a second. */
export function operationLines(file: string): Pick<Operation, 'method' | 'path'>[] {
  const lines = readFileSync(file, 'utf8').matchAll(/^ {2}(\/.*):$|^ {4}([a-z]+):$/gm)
  let path = ''
  return [...lines].flatMap(([, opened, method = '']) => {
    path = opened ?? path
    return path !== '' && methods.includes(method) ? [{ method: method.toUpperCase(), path }] : []
  })
}

/** The operations of an OpenAPI document, with what they refer to in place of each reference. */
export function readOperations(file: string): Operation[] {
  const { paths } = inlined(parse(readFileSync(file, 'utf8'))) as {
    paths: Record<string, Record<string, unknown>>
  }
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.filter((method) => method in item).map((method) => operationAt(path, method, item)),
  )
}

function operationAt(path: string, method: string, item: Record<string, unknown>): Operation {
  const { parameters: common = [] } = item as { parameters?: Parameter[] }
  const operation = item[method] as {
    deprecated?: boolean
    parameters?: Parameter[]
    requestBody?: { content: Content }
    responses: Operation['responses']
    security?: readonly object[]
    'x-command'?: string
    'x-role'?: string
  }
  const { deprecated, parameters, requestBody, responses, security } = operation
  return {
    method: method.toUpperCase(),
    path,
    isDeprecated: deprecated ?? false,
    isOpen: security?.length === 0,
    command: operation['x-command'],
    role: operation['x-role'],
    parameters: [...common, ...(parameters ?? [])],
    content: requestBody?.content ?? {},
    responses,
  }
}

/**
 * A document with what it refers to in place of each `$ref`: one and the same object, wherever it is
 * referred to. Nothing in it may refer to itself.
 */
function inlined(document: unknown): unknown {
  const known = new Map<string, unknown>()
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy)
    if (!isObject(value)) return value
    const { $ref } = value
    if (typeof $ref !== 'string') return mapped(value, copy)
    if (!known.has($ref)) known.set($ref, copy(placeAt(document, $ref)))
    return known.get($ref)
  }
  return copy(document)
}

function placeAt(document: unknown, reference: string): unknown {
  const [start, ...names] = reference.split('/')
  let place = start === '#' ? document : undefined
  for (const name of names) {
    const plain = name.replaceAll('~1', '/').replaceAll('~0', '~')
    place = isObject(place) ? place[plain] : undefined
  }
  if (place === undefined) throw new Error(`${reference} refers to nothing in this document`)
  return place
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object with each of its values changed. */
export function mapped(
  object: Readonly<Record<string, unknown>>,
  change: (value: unknown) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]))
}
