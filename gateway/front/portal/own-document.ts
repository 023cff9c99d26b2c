import { readFileSync } from 'node:fs'
import type { Config, PortalSettings } from '../config/config.ts'
import { keyPaths } from '../http/own-paths.ts'
import { list, section, type Section } from '../http/page/sections.ts'

/** An OpenAPI document of the gateway's own operations and answers. */
const file = new URL('own.openapi.json', import.meta.url)

/** The names in it that another document may have as well. */
const names = /"\w*Gateway\w*"/g

/** The parts of the gateway's own document, with names that the operator's doesn't have. */
export type OwnDocument = ReturnType<typeof ownDocument>

/** The own document beside that of the operator, in the same version of OpenAPI. */
export function ownDocument(
  { quotaPath, usagePath, tickets }: Pick<Config, 'quotaPath' | 'usagePath' | 'tickets'>,
  { document, canRotate }: PortalSettings,
  version: unknown,
) {
  const own = read(document, String(version).startsWith('3.0'))
  const components = section(own['components'])
  /** The name and the security scheme of a key. */
  const [key = ['', {}] as const] = Object.entries(section(components['securitySchemes']))
  const places: Readonly<Record<string, string | undefined>> = {
    '/v1/quota': quotaPath,
    '/v1/usage': usagePath,
    [keyPaths.rotate]: canRotate ? keyPaths.rotate : undefined,
    [keyPaths.ticket]: tickets ? keyPaths.ticket : undefined,
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
export function addNeeded(value: unknown, own: Section, components: Section): void {
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
