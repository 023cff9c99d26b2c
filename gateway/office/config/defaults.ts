import { isOf } from '../../../shared/schema.ts'
import type { ConfigFile } from './file.ts'
import { fileSchema } from './schema.ts'
import type { Complete, Known, Rule } from './settings/setting.ts'

/** A file with all its settings, in the form in which they are written. */
export type CompleteFile = Complete<typeof fileSchema>

/** A file with its defaults. Settings that break their own rule, or that a variable decides, are there and `undefined`. */
export type KnownFile = Known<CompleteFile>

type Section = Readonly<Record<string, unknown>>

/** Fills in the defaults, in the order of the schema. No value is read, because each may still be a `${NAME}`. */
export function withDefaults(file: ConfigFile): CompleteFile {
  // Both types follow from the schema that it is completed by.
  return valueOf(fileSchema, file, asItIs) as CompleteFile
}

/** Fills in the defaults of a file that may have mistakes. What breaks its rule, or is unknown already, is `undefined`. */
export function soundParts(file: unknown): KnownFile {
  const sound: Leaf = (rule, value) => (isOf(rule, value) ? value : undefined)
  return valueOf(fileSchema, file, sound) ?? {}
}

/** Reads what isn't a section or a list. */
type Leaf = (rule: Rule, value: unknown) => unknown
const asItIs: Leaf = (_rule, value) => value

function valueOf(rule: Rule, value: unknown, leaf: Leaf): unknown {
  const { anyOf, items, properties, patternProperties, shortFor } = rule
  if (shortFor !== undefined && typeof value === 'string') {
    return valueOf({ anyOf: anyOf ?? [] }, { [shortFor]: value }, leaf)
  }
  if (Array.isArray(value)) {
    const each = items ?? anyOf?.find((rule) => rule.items)?.items
    return each ? value.map((item) => valueOf(each, item, leaf)) : leaf(rule, value)
  }
  if (!isSection(value)) return leaf(rule, value)
  if (anyOf) {
    const section = sectionFor(anyOf, value)
    return section ? valueOf(section, value, leaf) : leaf(rule, value)
  }
  if (properties) return sectionOf(properties, value, leaf)
  const [member] = Object.values(patternProperties ?? {})
  if (!member) return leaf(rule, value)
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, valueOf(member, each, leaf)]),
  )
}

function sectionOf(
  properties: Readonly<Record<string, Rule>>,
  value: Section,
  leaf: Leaf,
): Section {
  const complete: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(properties)) {
    if (Object.hasOwn(value, name)) complete[name] = valueOf(member, value[name], leaf)
    else if (member.default !== undefined) complete[name] = valueOf(member, member.default, asItIs)
  }
  return complete
}

/** The section of a choice whose required settings are there, else one whose settings have any name. */
function sectionFor(choice: readonly Rule[], value: Section): Rule | undefined {
  const isThere = ({ properties, required = [] }: Rule) =>
    properties && required.every((name) => name in value)
  return choice.find(isThere) ?? choice.find(({ patternProperties }) => patternProperties)
}

function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
