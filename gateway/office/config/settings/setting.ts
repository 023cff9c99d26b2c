import { Type, withOptions, type AnySchema, type Static } from '../../../../shared/schema.ts'

/** The purpose of a setting in a sentence, for editors. */
type Described = Readonly<{ description: string }>

/** The parts of a schema that are read of it: of sections, lists, choices and single values. */
export type Rule = Readonly<{
  expected?: string
  type?: string
  properties?: Readonly<Record<string, Rule>>
  patternProperties?: Readonly<Record<string, Rule>>
  required?: readonly string[]
  items?: Rule
  minItems?: number
  maxItems?: number
  anyOf?: readonly Rule[]
  const?: unknown
  enum?: readonly unknown[]
  default?: unknown
  shortFor?: string
}>

/** A setting that must be written. */
export function required<Rule extends AnySchema>(
  rule: Rule,
  description: string,
): Rule & Described {
  return withOptions(rule, { description })
}

/**
 * A setting that may be left out. It has its default then; without one it is absent. The default `{}` of a section is
 * filled in with those of its settings.
 */
export function optional<Rule extends AnySchema>(
  rule: Rule,
  description: string,
): Optional<Rule> & Described
export function optional<Rule extends AnySchema>(
  rule: Rule,
  description: string,
  initial: Written<Rule>,
): Optional<Rule> & Described & Preset
export function optional(rule: AnySchema, description: string, initial?: unknown): Described {
  const preset = initial === undefined ? {} : { default: initial }
  return withOptions(Type.Optional(rule), { description, ...preset })
}

/** A section of settings, each of which has its purpose. */
export function section<Members extends Readonly<Record<string, Described>>>(
  members: Members,
  description?: string,
): Section<Members> {
  return Type.Object(members, {
    additionalProperties: false,
    expected: 'a section of settings',
    ...(description === undefined ? {} : { description }),
  })
}

/** A section that may be switched off as a whole. */
export function orOff<Whole extends AnySchema>(whole: Whole) {
  return Type.Union([whole, Type.Literal('off')], { expected: 'a section of settings, or off' })
}

/** A choice in which a text stands for a section with this one member, as `custom` does for `{ limits: custom }`. */
export function shortened<Choice extends AnySchema>(
  shortFor: string,
  choice: Choice,
): Choice & Shortened {
  return withOptions(choice, { shortFor })
}

/** A rule as operators write a value of it. */
export type Written<Rule> = Value<Rule, 'written'>

/** A rule with all defaults, and each short form as the section that it stands for. */
export type Complete<Rule> = Value<Rule, 'complete'>

type Form = 'written' | 'complete'
type Optional<Rule> = Rule & { '~optional': true }
type Preset = Readonly<{ default: unknown }>
type Section<Members = object> = Readonly<{ properties: Members }>
type Shortened = Readonly<{ shortFor: string }>

type Value<Rule, In extends Form> = Rule extends { anyOf: readonly (infer Each)[] }
  ? Value<Rule extends Shortened ? OfChoice<Each, In> : Each, In>
  : Rule extends { items: infer Item }
    ? readonly Value<Item, In>[]
    : Rule extends { properties: infer Members }
      ? OfSection<Members, In>
      : Rule extends { patternProperties: Readonly<Record<string, infer Member>> }
        ? Readonly<Record<string, Value<Member, In>>>
        : Static<Rule>

type OfChoice<Each, In extends Form> = In extends 'complete' ? Extract<Each, Section> : Each

type OfSection<Members, In extends Form> = Settings<
  {
    readonly [Name in keyof Members as Members[Name] extends Absent<In> ? never : Name]: Value<
      Members[Name],
      In
    >
  } & {
    readonly [Name in keyof Members as Members[Name] extends Absent<In> ? Name : never]?: Value<
      Members[Name],
      In
    >
  }
>

/** The settings that may be absent in a form. */
type Absent<In extends Form> = In extends 'complete'
  ? Optional<unknown> & { default?: never }
  : Optional<unknown>

type Settings<Members> = { [Name in keyof Members]: Members[Name] }

/** Sections between which a setting has a choice become one, with the members of all. */
export type Known<Value> =
  | Extract<Value, Scalar>
  | KnownList<Extract<Value, readonly unknown[]>>
  | KnownSection<Exclude<Value, Scalar | readonly unknown[]>>
type Scalar = string | number | boolean | undefined
type KnownList<List> = List extends readonly (infer Item)[]
  ? readonly (Known<Item> | undefined)[]
  : never
type KnownSection<Choice> = [Choice] extends [never]
  ? never
  : { readonly [Name in NamesOf<Choice>]?: Known<MemberOf<Choice, Name>> | undefined }
type NamesOf<Choice> = Choice extends unknown ? keyof Choice : never
type MemberOf<Choice, Name extends PropertyKey> = Choice extends {
  readonly [_ in Name]?: infer Member
}
  ? Member
  : never
