import type { Path } from '../mistake.ts'
export { list, section } from '../../../front/http/page/sections.ts'
import { durationFrom } from '../../../../shared/units.ts'

/** A sentence about a setting, without its subject: messages put the setting's path before it. */
export type Remark = Readonly<{ path: Path; sentence: string; isWarning?: boolean }>

/** The value at a path, for messages: as it is written, with `${NAME}`, never with the value of a variable; or its default. */
export type Quote = (path: Path) => string

/** A section of a file with its defaults and unchecked members. */
export type Section = Readonly<Record<string, unknown>>

export function mistake(path: Path, sentence: string): Remark {
  return { path, sentence }
}

export function warning(path: Path, sentence: string): Remark {
  return { path, sentence, isWarning: true }
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function duration(value: unknown): number | undefined {
  return typeof value === 'string' ? durationFrom(value) : undefined
}
