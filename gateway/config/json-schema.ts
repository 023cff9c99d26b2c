import { descriptions } from './descriptions.ts'
import type { ConfigFile } from './file.ts'
import { fileSchema } from './schema.ts'
import { completed } from './written.ts'

type Json = Readonly<Record<string, unknown>>

/** A value that the environment decides, which may stand in the place of any other. */
const variable = { type: 'string', pattern: '\\$\\{\\w+(:-[^}]*)?\\}' }

/** A file that says no more than it must, by whose completion defaults are found. */
const least: ConfigFile = {
  plans: { NAME: { perMinute: 1, perDay: 1 } },
  upstreams: { NAME: { targets: ['http://NAME'] } },
  routes: [{ path: '/NAME', upstream: 'NAME' }],
  deprecations: [{ operation: 'GET /NAME', since: '2025-12-05' }],
}

/** The schema of the configuration file as editors read it, from the one that the gateway goes by. */
export function jsonSchema(): Json {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'The configuration of Tollgate',
    ...ofSection(asJson(fileSchema), ''),
  }
}

/** A rule as editors read it, with what its place is for. */
function forEditors(rule: unknown, place: string, isOptional = false): Json {
  const { expected, ...rest } = asJson(rule)
  const otherwise = isOptional ? defaultAt(place) : undefined
  const about = [
    descriptions[place],
    rest['type'] === 'object' ? undefined : sentenceOf(expected),
    otherwise === undefined ? undefined : `Unless told: ${textOf(otherwise)}.`,
  ]
  const description = about.filter((each) => each !== undefined).join(' ')
  return {
    ...(description === '' ? {} : { description }),
    ...(otherwise === undefined ? {} : { default: otherwise }),
    ...orVariable(rest, place),
  }
}

/** Wherever a single value may stand, so may a variable. */
function orVariable(rule: Json, place: string): Json {
  const { anyOf, ...rest } = rule
  if (Array.isArray(anyOf)) {
    const all = anyOf.map((each: unknown) => within(withoutExpected(each), place))
    return { ...rest, anyOf: mayBeScalar(rule) ? [...all, variable] : all }
  }
  if (mayBeScalar(rule) && !isAnyText(rule)) return { anyOf: [rule, variable] }
  return within(rule, place)
}

function within(rule: Json, place: string): Json {
  if (rule['items'] !== undefined) {
    return { ...rule, items: forEditors(rule['items'], `${place}[]`) }
  }
  return rule['type'] === 'object' ? ofSection(rule, place) : rule
}

function ofSection(rule: Json, place: string): Json {
  const { properties, patternProperties, ...rest } = withoutExpected(rule)
  const required = Array.isArray(rest['required']) ? rest['required'] : []
  const inside = (name: string): string => (place === '' ? name : `${place}.${name}`)
  const members = Object.entries(asJson(properties)).map(([name, member]) => [
    name,
    forEditors(member, inside(name), !required.includes(name)),
  ])
  const named = Object.entries(asJson(patternProperties)).map(([pattern, member]) => [
    pattern,
    forEditors(member, inside('NAME')),
  ])
  return {
    ...rest,
    ...(members.length > 0 ? { properties: Object.fromEntries(members) as Json } : {}),
    ...(named.length > 0 ? { patternProperties: Object.fromEntries(named) as Json } : {}),
  }
}

/** What is at a place that nothing is written at, if it is a single value or an empty list. */
function defaultAt(place: string): unknown {
  const steps = place.replaceAll('[]', '.0').split('.')
  const value = steps.reduce<unknown>((from, step) => asJson(from)[step], completed(least))
  const isSection = typeof value === 'object' && value !== null
  return isSection && (!Array.isArray(value) || value.length > 0) ? undefined : value
}

function mayBeScalar({ type, anyOf, items }: Json): boolean {
  if (Array.isArray(anyOf)) return anyOf.some((each) => mayBeScalar(asJson(each)))
  return type !== 'object' && items === undefined
}

/** Whether a variable is as good as any other text there. */
function isAnyText(rule: Json): boolean {
  return rule['type'] === 'string' && !('pattern' in rule || 'const' in rule)
}

function withoutExpected(rule: unknown): Json {
  return Object.fromEntries(Object.entries(asJson(rule)).filter(([name]) => name !== 'expected'))
}

function asJson(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

/** What may stand there, where that says more than that it is a text. */
function sentenceOf(expected: unknown): string | undefined {
  if (typeof expected !== 'string' || expected === 'a text') return undefined
  return `${expected.charAt(0).toUpperCase()}${expected.slice(1)}.`
}

function textOf(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value)
}
