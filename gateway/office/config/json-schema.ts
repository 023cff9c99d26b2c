import { descriptions } from './descriptions.ts'
import type { ConfigFile } from './file.ts'
import { fileSchema } from './schema.ts'
import { withDefaults } from './defaults.ts'

type Json = Readonly<Record<string, unknown>>

/** A value with a variable, which is allowed in place of any single value. */
const variable = { type: 'string', pattern: '\\$\\{\\w+(:-[^}]*)?\\}' }

/** A file with the required settings only. Completing it shows the defaults. */
const least: ConfigFile = {
  plans: { NAME: { perMinute: 1, perDay: 1 } },
  upstreams: { NAME: { targets: ['http://NAME'] } },
  routes: [{ path: '/NAME', upstream: 'NAME' }],
  deprecations: [{ operation: 'GET /NAME', since: '2025-12-05' }],
}

/** The JSON Schema of the configuration file for editors, made from the schema that the gateway checks with. */
export function jsonSchema(): Json {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'The configuration of Tollgate',
    ...ofSection(asJson(fileSchema), ''),
  }
}

/** The rule of a setting for editors, with its purpose and its default. */
function forEditors(rule: unknown, setting: string, isOptional = false): Json {
  const { expected, ...rest } = asJson(rule)
  const initial = isOptional ? defaultOf(setting) : undefined
  const about = [
    descriptions[setting],
    rest['type'] === 'object' ? undefined : sentenceOf(expected),
    initial === undefined ? undefined : `Default: ${textOf(initial)}.`,
  ]
  const description = about.filter((each) => each !== undefined).join(' ')
  return {
    ...(description === '' ? {} : { description }),
    ...(initial === undefined ? {} : { default: initial }),
    ...orVariable(rest, setting),
  }
}

/** The rule, or a variable wherever the rule allows a single value. */
function orVariable(rule: Json, setting: string): Json {
  const { anyOf, ...rest } = rule
  if (Array.isArray(anyOf)) {
    const all = anyOf.map((each: unknown) => within(withoutExpected(each), setting))
    return { ...rest, anyOf: mayBeScalar(rule) ? [...all, variable] : all }
  }
  if (mayBeScalar(rule) && !isAnyText(rule)) return { anyOf: [rule, variable] }
  return within(rule, setting)
}

function within(rule: Json, setting: string): Json {
  if (rule['items'] !== undefined) {
    return { ...rule, items: forEditors(rule['items'], `${setting}[]`) }
  }
  return rule['type'] === 'object' ? ofSection(rule, setting) : rule
}

function ofSection(rule: Json, setting: string): Json {
  const { properties, patternProperties, ...rest } = withoutExpected(rule)
  const required = Array.isArray(rest['required']) ? rest['required'] : []
  const inside = (name: string): string => (setting === '' ? name : `${setting}.${name}`)
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

/** The default of a setting, if it is a single value or an empty list. */
function defaultOf(setting: string): unknown {
  const steps = setting.replaceAll('[]', '.0').split('.')
  const value = steps.reduce<unknown>((from, step) => asJson(from)[step], withDefaults(least))
  const isSection = typeof value === 'object' && value !== null
  return isSection && (!Array.isArray(value) || value.length > 0) ? undefined : value
}

function mayBeScalar({ type, anyOf, items }: Json): boolean {
  if (Array.isArray(anyOf)) return anyOf.some((each) => mayBeScalar(asJson(each)))
  return type !== 'object' && items === undefined
}

/** Whether any text is allowed, so that a variable needs no rule of its own. */
function isAnyText(rule: Json): boolean {
  return rule['type'] === 'string' && !('pattern' in rule || 'const' in rule)
}

function withoutExpected(rule: unknown): Json {
  return Object.fromEntries(Object.entries(asJson(rule)).filter(([name]) => name !== 'expected'))
}

function asJson(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

/** The rule in words, as a sentence; `undefined` for any text, where it would say nothing. */
function sentenceOf(expected: unknown): string | undefined {
  if (typeof expected !== 'string' || expected === 'a text') return undefined
  return `${expected.charAt(0).toUpperCase()}${expected.slice(1)}.`
}

function textOf(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value)
}
