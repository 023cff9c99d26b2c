import type { Config, PortalSettings } from '../config/config.ts'
import { deprecationFinder } from '../config/deprecations.ts'
import { gatewayPathFinder, type GatewayPath } from './gateway-path.ts'
import { KeySchemes } from './key-schemes.ts'
import { addNeeded, ownDocument } from './own-document.ts'
import {
  list,
  operationsOf,
  section,
  stepFor,
  stepOf,
  targetOf,
  type Section,
} from '../http/page/sections.ts'

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
  const keys = new KeySchemes(section(components['securitySchemes']), config, own.key)
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
