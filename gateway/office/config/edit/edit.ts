import { isAlias, isMap, isScalar, isSeq, visit, type Document, type Node } from 'yaml'
import { withCommas } from '../../../../shared/commas.ts'
import { WrongInput } from '../../wrong-input.ts'
import { nameOf } from '../check.ts'
import type { Path } from '../mistake.ts'
import { baredText, guardedText } from '../variables.ts'
import { isDeeper, mostLevels, yamlDocument } from '../yaml-document.ts'
import { insertion, removal, replacement, type Splice, type Spot } from './splice.ts'

/** New values of settings by their places, such as `plans.free.perHour`; `null` takes a setting away. */
export type Settings = Readonly<Record<string, unknown>>

/** The most settings that are changed at once: the text is read again after each. */
const mostSettings = 20

/** The most levels of a place: no setting has half as many. */
const mostSteps = 20

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

/** Follows a place through the file, as far as it is written. */
function spotOf(document: Document.Parsed, text: string, setting: string): Spot {
  if (!/^[^.[\]\s][^.[\]]*(?:\.[^.[\]]+|\[\d{1,6}\])*$/.test(setting)) {
    throw new WrongInput(
      `${JSON.stringify(setting)} isn't the place of a setting, such as plans.free.perHour or routes[0].cost`,
    )
  }
  const used = aliasesIn(document)
  let rest = stepsOf(setting)
  if (rest.length > mostSteps) {
    const place = JSON.stringify(`${setting.slice(0, 60)}…`)
    throw new WrongInput(
      `${place} has ${withCommas(rest.length)} levels; a place has at most ${mostSteps}`,
    )
  }
  let spot: Spot = { node: document.contents, missing: [], path: [], parent: null, index: -1 }
  for (;;) {
    requireOwn(spot, used, text)
    const [index, taken] = inside(spot.node, rest)
    if (index < 0 || rest.length === 0) return { ...spot, missing: missingAt(spot, rest, text) }
    const parent = spot.node
    const item: unknown = isMap(parent)
      ? parent.items[index]?.value
      : isSeq(parent)
        ? parent.items[index]
        : null
    const step = isMap(parent) ? rest.slice(0, taken).join('.') : (rest[0] ?? 0)
    spot = { node: item as Node | null, missing: [], path: [...spot.path, step], parent, index }
    rest = rest.slice(taken)
  }
}

/** The steps that aren't written; throws if nothing can be written there. */
function missingAt({ node, path }: Spot, rest: Path, text: string): Path {
  const [step] = rest
  if (step === undefined || isNothing(node)) return rest
  const isFit = isMap(node) ? typeof step === 'string' : isSeq(node) && step === node.items.length
  if (isFit) return rest
  if (isSeq(node) && typeof step === 'number') {
    throw new WrongInput(
      `${nameOf(path)} has ${node.items.length} entries, so ${nameOf([...path, step])} can't be written`,
    )
  }
  const [start = 0, end = start] = node?.range ?? []
  const written = isScalar(node) ? text.slice(start, end) : isSeq(node) ? 'a list' : 'a section'
  throw new WrongInput(
    `${nameOf(path)} is ${written}, so ${nameOf([...path, step])} can't be written: change ${nameOf(path)} as a whole`,
  )
}

/** Throws where a change would show at other places too, or come from one. */
function requireOwn({ node, path }: Spot, used: ReadonlySet<string>, text: string): void {
  const name = nameOf(path)
  if (isAlias(node)) {
    throw new WrongInput(
      `${name} is *${node.source}: change the setting with &${node.source}, or write ${name} out`,
    )
  }
  if (node?.anchor !== undefined && used.has(node.anchor)) {
    throw new WrongInput(`${name} is used elsewhere too, as *${node.anchor}: change it by hand`)
  }
  if (
    isMap<Node, Node>(node) &&
    node.items.some(({ key }) => isScalar(key) && key.value === '<<')
  ) {
    throw new WrongInput(`${name} merges another section (<<): change it by hand`)
  }
  const [start = 0, end = 0] = node?.range ?? []
  const written = text.slice(start, end)
  if (isScalar(node) && written.includes('${')) {
    throw new WrongInput(
      `${name} comes from the environment (${written}): change it there, or by hand`,
    )
  }
}

/** The item that the next steps lead to, and the number of steps; -1 if it isn't written. Names may have dots. */
function inside(node: Node | null, rest: Path): [index: number, taken: number] {
  const [step] = rest
  if (isSeq(node)) return [typeof step === 'number' && step < node.items.length ? step : -1, 1]
  if (!isMap<Node, Node | null>(node)) return [-1, 0]
  const names = node.items.map(({ key }) => (isScalar(key) ? String(key.value) : undefined))
  const end = rest.findIndex((each) => typeof each === 'number')
  for (let taken = end < 0 ? rest.length : end; taken > 0; taken--) {
    const index = names.indexOf(rest.slice(0, taken).join('.'))
    if (index >= 0) return [index, taken]
  }
  return [-1, 0]
}

function stepsOf(setting: string): Path {
  return [...setting.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(
    ([, name, index]) => name ?? Number(index),
  )
}

/** Whether a setting is named, but has no value. */
function isNothing(node: Node | null): boolean {
  return node === null || (isScalar(node) && node.value === null)
}

/** The names of all anchors that are used. */
function aliasesIn(document: Document): ReadonlySet<string> {
  const names = new Set<string>()
  visit(document, { Alias: (_key, { source }) => void names.add(source) })
  return names
}
