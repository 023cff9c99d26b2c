import type { ConfigFile } from './file.ts'
import { fileSchema } from './schema.ts'
import type { Complete, Rule } from './settings/setting.ts'

/** A file with all its settings, in the form in which they are written. */
export type CompleteFile = Complete<typeof fileSchema>

type Section = Readonly<Record<string, unknown>>

/** Fills in the defaults, in the order of the schema. */
export function withDefaults(file: ConfigFile): CompleteFile {
  // Both types follow from the schema that it is completed by.
  return completed(file) as CompleteFile
}

/**
 * Fills in the defaults of a file that may have mistakes: those parts stay as they are. No value is read, because each may
 * still be a `${NAME}`; one that is there and `undefined` is unknown, and stays so.
 */
export function completed(file: unknown): unknown {
  return valueOf(fileSchema, file)
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
  const complete: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(properties)) {
    if (Object.hasOwn(value, name)) complete[name] = valueOf(member, value[name])
    else if (member.default !== undefined) complete[name] = valueOf(member, member.default)
  }
  return complete
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
