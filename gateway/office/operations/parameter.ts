import type { Key } from '../../front/keys/key.ts'
import type { Kind } from './kinds.ts'

/**
 * One parameter of an operation. Its name in `Parameters` is that of the member of a body or the parameter of a query; a
 * dot in the name leads into an object of the body.
 */
export type Parameter = Readonly<{
  kind: Kind<unknown>
  help: string
  /** The word for its value in help, such as `PLAN`. An option without it is a switch. */
  value?: string
  /** The name of its option, if it differs from its own name in kebab case. */
  option?: string
  /** On the command line it is given by position, not as an option. */
  isArgument?: boolean
  isRequired?: boolean
  /** The text that is read if it is left out. */
  defaultText?: string
  /** The text that is read if its option is given without a value. */
  bareText?: string
  /** Its option may be repeated; its value is a list of at least one. */
  many?: boolean
  /** The help of `--no-OPTION`, which takes the present value away, as `null` does in a body. */
  takeAway?: string
  /** The header of a request that gives it, in place of its query or body. */
  header?: string
  /** It is given only where no key is named, because it is about several keys. */
  isOfMany?: boolean
  /** It is given only where one key is named. */
  isOfOne?: boolean
  /** Where no key is named, it names several, and is needed. */
  namesMany?: boolean
  /** Only the admin API has it: the command line has another way to say it. */
  isOfApi?: boolean
  /** Only the command line has it. */
  isOfCommand?: boolean
  /** It is in no message. On the command line it is read from standard input, unless it is an argument that is given. */
  isSecret?: boolean
  /** Where a parameter of this name is given, the command line doesn't ask for it. */
  unless?: string
  /** A word that means `null` on the command line, and its meaning for help. */
  nullWord?: Readonly<{ word: string; meaning: string }>
}>

/** The key that an operation is about: `{id}` in its path, KEY on the command line. */
export type KeyParameter = Readonly<{ isKey: true; isRequired?: boolean }>

/** A whole text: a file on the command line, the body of a request in the admin API. */
export type ContentParameter = Readonly<{
  /** The media types that the body may have. */
  types: readonly string[]
  /** The most bytes of the body; 1 MiB by default. */
  mostBytes?: number
  /** It is a configuration. A command without the argument takes the configuration of `--config`. */
  isConfig?: boolean
}>

export type Parameters = Readonly<Record<string, Parameter | KeyParameter | ContentParameter>>

/** A whole text, and its name in messages. */
export type Content = Readonly<{
  name: string
  read: () => string
  /** The same in pieces, so that a long one holds nobody up. */
  pieces?: () => Iterable<string>
  /** The same as it came, for a message that takes it along. */
  bytes?: readonly Uint8Array<ArrayBuffer>[]
}>

type Single<Given extends Parameter> = Given['kind'] extends Kind<infer Value> ? Value : never
type Whole<Given extends Parameter> = Given extends { many: true }
  ? readonly Single<Given>[]
  : Single<Given>
type Value<Given> = Given extends KeyParameter
  ? Key
  : Given extends ContentParameter
    ? Content
    : Given extends Parameter
      ? Whole<Given> | (Given extends { takeAway: string } | { nullWord: object } ? null : never)
      : never

/** The values of an operation's parameters. Optional ones without a default may be `undefined`. */
export type Given<All extends Parameters> = {
  readonly [Name in keyof All]: All[Name] extends
    { isRequired: true } | { defaultText: string } | ContentParameter
    ? Value<All[Name]>
    : Value<All[Name]> | undefined
}
