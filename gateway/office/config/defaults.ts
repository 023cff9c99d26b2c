import type { TSchema } from '../../../shared/schema.ts'
import type { ConfigFile } from './file.ts'
import { fileSchema } from './schema.ts'
import type { Complete } from './settings/setting.ts'

/** A file with all its settings, in the form in which they are written. */
export type CompleteFile = Complete<typeof fileSchema>

/** The parts of a schema by which a value is completed. */
type Rule = Readonly<{
  properties?: Readonly<Record<string, Rule>>
  patternProperties?: Readonly<Record<string, Rule>>
  required?: readonly string[]
  items?: Rule
  anyOf?: readonly Rule[]
  default?: unknown
  shortFor?: string
}>

type Section = Readonly<Record<string, unknown>>

/** Fills in the defaults, in the order of the schema. */
export function withDefaults(file: ConfigFile): CompleteFile {
  return completed(file) as CompleteFile
}

/**
 * Fills in the defaults of a file that may have mistakes: those parts stay as they are. No value is read, because each may
 * still be a `${NAME}`; one that is there and `undefined` is unknown, and stays so.
 */
export function completed(file: unknown): unknown {
  return valueOf(fileSchema as TSchema, file)
}

function valueOf(rule: Rule, value: unknown): unknown {
  const { anyOf, items, properties, patternProperties, shortFor } = rule
  if (shortFor !== undefined && typeof value === 'string') {
    return valueOf({ anyOf: anyOf ?? [] }, { [shortFor]: value })
  }
  if (Array.isArray(value)) return items ? value.map((item) => valueOf(items, item)) : value
  if (!isSection(value)) return value
  if (anyOf) return valueOf(sectionFor(anyOf, value), value)
  if (properties) return sectionOf(properties, value)
  const [member] = Object.values(patternProperties ?? {})
  if (!member) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, valueOf(member, each)]),
  )
}

function sectionOf(properties: Readonly<Record<string, Rule>>, value: Section): Section {
  const members = Object.entries(properties).flatMap(([name, member]) => {
    const isWritten = Object.hasOwn(value, name)
    if (!isWritten && member.default === undefined) return []
    return [[name, valueOf(member, isWritten ? value[name] : member.default)]]
  })
  return Object.fromEntries(members) as Section
}

/** The section of a choice whose required settings are there. */
function sectionFor(choice: readonly Rule[], value: Section): Rule {
  const fitting = choice.find(
    ({ properties, required = [] }) => properties && required.every((name) => name in value),
  )
  return fitting ?? {}
}

function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
