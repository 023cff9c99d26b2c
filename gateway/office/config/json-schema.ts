import { section } from '../../front/http/page/sections.ts'
import { mayBeScalar } from './check.ts'
import { fileSchema } from './schema.ts'

type Json = Readonly<Record<string, unknown>>

/** A value with a variable, or with a secret's file, which is allowed in place of any single value. */
const variable = { type: 'string', pattern: '\\$\\{(\\w+(:-[^}]*)?|file:[^}]+)\\}' }

/** The words of our schemas that JSON Schema doesn't have. */
const ownWords: ReadonlySet<string> = new Set(['expected', 'shortFor'])

/** The JSON Schema of the configuration file for editors, made from the schema that the gateway checks with. */
export function jsonSchema(): Json {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    // A name, by which editors and registries tell it from other schemas: no address to fetch it from.
    $id: 'urn:tollgate:gateway.schema.json',
    title: 'The configuration of Tollgate',
    ...ofSection(section(fileSchema)),
  }
}

/** The rule of a setting for editors, with its purpose and its default. */
function forEditors(rule: unknown): Json {
  const { description: purpose, default: preset, ...rest } = withoutOwnWords(rule)
  // A section shows the default of each of its settings.
  const initial = rest['type'] === 'object' ? undefined : preset
  const about = [
    typeof purpose === 'string' ? purpose : undefined,
    rest['type'] === 'object' ? undefined : sentenceOf(section(rule)['expected']),
    initial === undefined ? undefined : `Default: ${textOf(initial)}.`,
  ]
  const description = about.filter((each) => each !== undefined).join(' ')
  return {
    ...(description === '' ? {} : { description }),
    ...(initial === undefined ? {} : { default: initial }),
    ...orVariable(rest),
  }
}

/** The rule, or a variable wherever the rule allows a single value. */
function orVariable(rule: Json): Json {
  const { anyOf, ...rest } = rule
  if (Array.isArray(anyOf)) {
    const all = anyOf.map((each: unknown) => within(withoutOwnWords(each)))
    return { ...rest, anyOf: mayBeScalar(rule) ? [...all, variable] : all }
  }
  if (mayBeScalar(rule) && !isAnyText(rule)) return { anyOf: [rule, variable] }
  return within(rule)
}

function within(rule: Json): Json {
  if (rule['items'] !== undefined) return { ...rule, items: forEditors(rule['items']) }
  return rule['type'] === 'object' ? ofSection(rule) : rule
}

function ofSection(rule: Json): Json {
  const { properties, patternProperties, ...rest } = withoutOwnWords(rule)
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: ofMembers(properties) }),
    ...(patternProperties === undefined ? {} : { patternProperties: ofMembers(patternProperties) }),
  }
}

function ofMembers(members: unknown): Json {
  const all = Object.entries(section(members)).map(([name, member]) => [name, forEditors(member)])
  return Object.fromEntries(all) as Json
}

/** Whether any text is allowed, so that a variable needs no rule of its own. */
function isAnyText(rule: Json): boolean {
  return rule['type'] === 'string' && !('pattern' in rule || 'const' in rule)
}

function withoutOwnWords(rule: unknown): Json {
  return Object.fromEntries(Object.entries(section(rule)).filter(([name]) => !ownWords.has(name)))
}

/** The rule in words, as a sentence; `undefined` for any text, where it would say nothing. */
function sentenceOf(expected: unknown): string | undefined {
  if (typeof expected !== 'string' || expected === 'a text') return undefined
  return `${expected.charAt(0).toUpperCase()}${expected.slice(1)}.`
}

function textOf(value: unknown): string {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value)
}
