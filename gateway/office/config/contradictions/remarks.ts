import type { Path } from '../mistake.ts'
import type { KnownFile } from '../defaults.ts'
import type { NamedFiles } from '../named-files.ts'
import { durationFrom, instantFrom } from '../../../../shared/units.ts'

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

/** The parts of an entry of `routes` that no variable decides. */
export type KnownEntry = Readonly<{
  /** Empty if it is unknown. */
  path: string
  /** Whether it names methods. */
  hasMethods: boolean
  /** The methods that it forwards, named or left to it. */
  own: readonly string[]
  /** Whether it names unknown methods as well. */
  isOpen: boolean
  upstream: string | undefined
}>

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
