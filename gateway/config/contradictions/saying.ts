import type { Path } from '../document.ts'
import { durationFrom } from '../units.ts'

/** Something about a setting, which is said before it by its name; a warning is of what works, but makes no sense. */
export type Saying = Readonly<{ path: Path; sentence: string; isWarning?: boolean }>

/** What is written at a place, for a sentence: never what a variable of the environment says. */
export type Quote = (path: Path) => string

/** A section as it is written, in which anything may be. */
export type Section = Readonly<Record<string, unknown>>

export function mistake(path: Path, sentence: string): Saying {
  return { path, sentence }
}

export function warning(path: Path, sentence: string): Saying {
  return { path, sentence, isWarning: true }
}

export function section(value: unknown): Section {
  const isSection = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isSection ? (value as Section) : {}
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function duration(value: unknown): number | undefined {
  return typeof value === 'string' ? durationFrom(value) : undefined
}
