import type { Document } from 'yaml'
import { nameOf } from '../check.ts'
import type { Path } from '../mistake.ts'
import { baredText, guardedText } from '../variables.ts'
import { isDeeper, mostLevels, yamlDocument } from '../yaml-document.ts'
import { insertion, removal, replacement, type Splice, type Spot } from './splice.ts'
import { isNothing, spotOf } from './spot.ts'
import { WrongInput } from '../../wrong-input.ts'

/** New values of settings by their places, such as `plans.free.perHour`; `null` takes a setting away. */
export type Settings = Readonly<Record<string, unknown>>

/** The most settings that are changed at once: the text is read again after each. */
const mostSettings = 20

/**
 * A file's text with other settings. Every other byte stays: comments, order, quotes, blank lines and `${NAME}`. Throws
 * an `WrongInput` where that can't be done; the text itself must be valid YAML.
 */
export function editedText(text: string, settings: Settings): string {
  const count = Object.keys(settings).length
  if (count > mostSettings) {
    throw new WrongInput(`at most ${mostSettings} settings can be changed at once, got ${count}`)
  }
  let written = read(text)
  for (const [setting, value] of Object.entries(settings)) {
    written = withSetting(written, setting, value)
  }
  return written.text
}

/** A text and its document, whose values keep `${NAME}`. */
type Written = Readonly<{ text: string; document: Document.Parsed }>

function withSetting(written: Written, setting: string, value: unknown): Written {
  const { text, document } = written
  if (isDeeper(value, mostLevels)) {
    throw new WrongInput(`the value of ${setting} has more than ${mostLevels} levels`)
  }
  const spot = spotOf(document, text, setting)
  if (value === null && spot.missing.length > 0) {
    throw new WrongInput(`${setting} isn't written in the file`)
  }
  const before = valuesOf(document)
  const path = [...spot.path, ...spot.missing]
  const after = JSON.stringify(withValue(JSON.parse(before), path, value))
  // Another spelling of the same value, such as a quoted one, stays.
  if (before === after) return written
  const { start, end, source } = spliceFor(spot, text, value)
  const edited = read(text.slice(0, start) + source + text.slice(end))
  if (edited.document.errors.length === 0 && valuesOf(edited.document) === after) return edited
  throw new WrongInput(
    `${setting} can't be changed without touching anything else in the file: change it by hand`,
  )
}

function spliceFor(spot: Spot, text: string, value: unknown): Splice {
  const name = nameOf(spot.path)
  if (value === null) return removal(spot, text, name)
  const [step, ...inner] = spot.missing
  if (step === undefined || isNothing(spot.node)) {
    return replacement(spot, text, nested(spot.missing, value), name)
  }
  return insertion(spot, text, step, nested(inner, value))
}

/** A value inside of the sections and lists that lead to it. */
function nested(steps: Path, value: unknown): unknown {
  return steps.reduceRight<unknown>(
    (inner, step) => (typeof step === 'number' ? [inner] : { [step]: inner }),
    value,
  )
}

function read(text: string): Written {
  const document = yamlDocument(guardedText(text))
  return { text, document }
}

/** A document's values as JSON; what an alias stands for is there once more. */
function valuesOf(document: Document): string {
  return baredText(JSON.stringify(document.toJS()) ?? 'null')
}

/** A copy of plain values with another one at a path. */
function withValue(values: unknown, path: Path, value: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (Array.isArray(values) && typeof step === 'number') {
    if (rest.length === 0 && value === null) return values.filter((_, i) => i !== step)
    const all: unknown[] = [...(values as unknown[])]
    all[step] = withValue(all[step], rest, value)
    return all
  }
  if (typeof step === 'number') return [withValue(undefined, rest, value)]
  const members = new Map(Object.entries(values ?? {}))
  if (rest.length === 0 && value === null) members.delete(step)
  else members.set(step, withValue(members.get(step), rest, value))
  return Object.fromEntries(members)
}
