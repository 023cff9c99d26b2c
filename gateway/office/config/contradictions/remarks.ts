import type { Path } from '../mistake.ts'
import type { CompleteFile } from '../defaults.ts'
import type { NamedFiles } from '../named-files.ts'
import { durationFrom, instantFrom } from '../../../../shared/units.ts'
import type { KnownEntry } from './entries.ts'

/** A sentence about a setting, without its subject: messages put the setting's path before it. */
export type Remark = Readonly<{ path: Path; sentence: string; isWarning?: boolean }>

/** Contradictions of one kind. */
export type Check = (checked: Checked) => Iterable<Remark>

/** A file whose settings are looked at together. */
export type Checked = Readonly<{
  file: KnownFile
  /** The value at a path, for messages: as it is written, with `${NAME}`, never with the value of a variable; or its default. */
  quote: (path: Path) => string
  /** The routes; `undefined` if they have mistakes. */
  entries: readonly KnownEntry[] | undefined
  /** The file as it is written: without defaults, and with settings that nobody knows. */
  written: Readonly<Record<string, unknown>>
  /** The files of this machine that it names; `undefined` for somebody who may not see them. */
  files: NamedFiles | undefined
  /** Whether operators have a token. */
  adminToken: boolean
}>

export type Quote = Checked['quote']

/** A file with its defaults. Settings that break their own rule, or that a variable decides, are there and `undefined`. */
export type KnownFile = Known<CompleteFile>

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

export function mistake(path: Path, sentence: string): Remark {
  return { path, sentence }
}

export function warning(path: Path, sentence: string): Remark {
  return { path, sentence, isWarning: true }
}

export function duration(text: string | undefined): number | undefined {
  return text === undefined ? undefined : durationFrom(text)
}

export function instant(text: string | undefined): number | undefined {
  return text === undefined ? undefined : instantFrom(text)
}
