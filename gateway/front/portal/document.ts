import { readFileSync } from 'node:fs'
import type { Config, PortalSettings } from '../config/config.ts'
import { deprecationFinder } from '../config/deprecations.ts'
import { ticketPath } from '../http/own-paths.ts'
import { gatewayPathFinder, type GatewayPath } from './gateway-path.ts'
import { keySchemes } from './key-schemes.ts'
import {
  list,
  operationsOf,
  section,
  stepFor,
  stepOf,
  targetOf,
  type Section,
} from '../http/page/sections.ts'

/** An OpenAPI document of the gateway's own operations and answers. */
const file = new URL('own.openapi.json', import.meta.url)

/** The names in it that another document may have as well. */
const names = /"\w*Gateway\w*"/g

/** The members of a path that are operations. */
const methods = 'get put post delete options head patch trace query'.split(' ')

/** The most references from a path to its operations that are followed. */
const mostSteps = 20

/**
 * The operator's OpenAPI document as callers use it: with the paths of this gateway and a key, and with the gateway's own answers
 * and operations where it doesn't have them. `prefix` is the path at which an app has the gateway.
 */
export function callersDocument(config: Config, portal: PortalSettings, prefix: string): string {
  const document = placed(portal.document, gatewayPathFinder(config.routes, prefix))
  const paths = section(document['paths'])
  const components = { ...section(document['components']) }
  const own = ownDocument(config, portal, document['openapi'])
  const keys = keySchemes(section(components['securitySchemes']), config, own.key)
  components['securitySchemes'] = keys.schemes
  const isDeprecated = deprecationFinder(config.deprecations)

  function amend(operation: Section, method: string, path: string): void {
    delete operation['servers']
    const { security } = operation
    const responses = section(operation['responses'])
    if (isDeprecated(method, path, undefined)) operation['deprecated'] = true
    if (security !== undefined) operation['security'] = keys.required(security)
    operation['responses'] = { ...own.answers, ...responses }
    for (const [status, answer] of Object.entries(own.answers)) {
      if (!Object.hasOwn(responses, status)) addNeeded(answer, own.components, components)
    }
  }

  for (const [path, value] of Object.entries(paths)) {
    for (const item of itemsOf(document, value)) {
      delete item['servers']
      for (const [method, operation] of operationsOf(item, methods)) amend(operation, method, path)
    }
  }
  const added = own.items.filter(([path]) => !Object.hasOwn(paths, path))
  for (const [, operation] of added.flatMap(([, item]) => operationsOf(item, methods))) {
    operation['security'] = keys.required([])
    // A tag that alone is described would stand before all others.
    if (document['tags'] === undefined) delete operation['tags']
  }
  addNeeded(added, own.components, components)
  return JSON.stringify({
    ...document,
    servers: [{ url: prefix || '/' }],
    security: keys.required(document['security']),
    tags: withTags(document['tags'], added.length > 0 ? own.tags : []),
    paths: { ...paths, ...Object.fromEntries(added) },
    components,
  })
}

/** A document with its paths, and the references to them, as they are at the gateway. */
function placed(text: string, gatewayPath: GatewayPath): Section {
  const { paths, servers } = section(JSON.parse(text))
  const names = new Map<string, string>()
  for (const [path, item] of Object.entries(section(paths))) {
    if (path.startsWith('/'))
      names.set(path, gatewayPath(path, section(item)['servers'] ?? servers))
  }
  const led = (name: string, value: unknown): unknown =>
    typeof value === 'string' && (name === '$ref' || name === 'operationRef')
      ? value.replace(/^#\/paths\/([^/]+)/, (all, step: string) => {
          const path = names.get(stepOf(step))
          return path === undefined ? all : `#/paths/${stepFor(path)}`
        })
      : value
  const document = section(JSON.parse(text, text.includes('#/paths/') ? led : undefined))
  const items: Section = {}
  for (const [path, item] of Object.entries(section(document['paths']))) {
    const name = names.get(path)
    if (name === undefined) items[path] = item
    // Two paths of the document may be one here.
    else items[name] = { ...section(item), ...section(items[name]) }
  }
  return { ...document, paths: items }
}

/** A path's members, then those of what it refers to. */
function* itemsOf(document: Section, value: unknown): Generator<Section> {
  let item = section(value)
  for (let step = 0; step < mostSteps; step++) {
    yield item
    const { $ref } = item
    if (typeof $ref !== 'string') return
    item = section(targetOf(document, $ref))
  }
}

function withTags(tags: unknown, more: readonly unknown[]): readonly unknown[] | undefined {
  if (tags === undefined) return undefined
  const names = new Set(list(tags).map((tag) => section(tag)['name']))
  return [...list(tags), ...more.filter((tag) => !names.has(section(tag)['name']))]
}

/** The own document beside that of the operator, in the same version of OpenAPI. */
function ownDocument(
  { quotaPath, usagePath, tickets }: Pick<Config, 'quotaPath' | 'usagePath' | 'tickets'>,
  { document }: PortalSettings,
  version: unknown,
) {
  const own = read(document, String(version).startsWith('3.0'))
  const components = section(own['components'])
  /** The name and the security scheme of a key. */
  const [key = ['', {}] as const] = Object.entries(section(components['securitySchemes']))
  const places: Readonly<Record<string, string | undefined>> = {
    '/v1/quota': quotaPath,
    '/v1/usage': usagePath,
    [ticketPath]: tickets ? ticketPath : undefined,
  }
  /** The operations that the configuration has, by their paths. */
  const items = Object.entries(section(own['paths'])).flatMap(([name, item]) => {
    const path = places[name]
    return path === undefined ? [] : [[path, section(item)] as const]
  })
  /** The answers that each operation of the API may get from the gateway, by their statuses. */
  const answers = section(own['x-answers'])
  return { items, answers, tags: list(own['tags']), key, components }
}

/** Adds the own components that a value refers to, and those that these need. */
function addNeeded(value: unknown, own: Section, components: Section): void {
  const references = JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/(\w+)"/g)
  for (const [, kind = '', name = ''] of references) {
    const known = section(components[kind])
    if (Object.hasOwn(known, name)) continue
    const component = section(own[kind])[name]
    components[kind] = { ...known, [name]: component }
    addNeeded(component, own, components)
  }
}

/** The own document with other names where the operator's has them. OpenAPI 3.0 says by a word of its own what may be null. */
function read(document: string, isOld: boolean): Section {
  const text = readFileSync(file, 'utf8')
  const [own, taken] = [text, document].map((each) => new Set(each.match(names)))
  let word = 'Gateway'
  const isTaken = (name: string): boolean => taken?.has(name.replace('Gateway', word)) === true
  for (let i = 2; [...(own ?? [])].some(isTaken); i++) word = `Gateway${i}`
  const whole: unknown = JSON.parse(text.replaceAll('Gateway', word), (_name, value: unknown) => {
    const { type } = section(value)
    const isNullable = isOld && Array.isArray(type)
    return isNullable ? { ...section(value), type: type[0] as unknown, nullable: true } : value
  })
  return section(whole)
}
