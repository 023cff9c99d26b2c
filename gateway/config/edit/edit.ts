import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  visit,
  type Document,
  type Node,
} from 'yaml'
import { nameOf } from '../check.ts'
import type { Path } from '../document.ts'
import { baredText, guardedText } from '../variables.ts'
import { EditMistake } from './mistake.ts'
import { insertion, removal, replacement, type Spot } from './splice.ts'

/** New values of settings by their places, such as `plans.free.perMinute`; `null` takes a setting away. */
export type Settings = Readonly<Record<string, unknown>>

/** The most settings that are changed at once: the text is read again for each. */
export const mostSettings = 20

/**
 * A file's text with other settings. Every other byte stays: comments, order, quotes, blank lines and `${NAME}`. Throws
 * an `EditMistake` where that can't be done; the text itself must be valid YAML.
 */
export function editedText(text: string, settings: Settings): string {
  return Object.entries(settings).reduce(
    (edited, [place, value]) => withSetting(edited, place, value),
    text,
  )
}

function withSetting(text: string, place: string, value: unknown): string {
  const document = documentOf(text)
  const spot = spotOf(document, text, place)
  if (value === null && spot.missing.length > 0) {
    throw new EditMistake(`${place} isn't written in the file`)
  }
  const before = plain(document)
  const after = withValue(before, [...spot.path, ...spot.missing], value)
  // Another spelling of the same value, such as a quoted one, stays.
  if (JSON.stringify(before) === JSON.stringify(after)) return text
  const { start, end, source } = spliceFor(spot, text, value)
  const edited = text.slice(0, start) + source + text.slice(end)
  const changed = documentOf(edited)
  if (changed.errors.length === 0 && JSON.stringify(plain(changed)) === JSON.stringify(after)) {
    return edited
  }
  throw new EditMistake(
    `${place} can't be changed without touching anything else in the file: change it by hand`,
  )
}

function spliceFor(spot: Spot, text: string, value: unknown) {
  const name = nameOf(spot.path)
  if (value === null) return removal(spot, text, name)
  const [step, ...inner] = spot.missing
  if (step === undefined || isNothing(spot.node)) {
    return replacement(spot, text, nested(spot.missing, value), name)
  }
  return insertion(spot, text, step, nested(inner, value))
}

/** Follows a place through the file, as far as it is written. */
function spotOf(document: Document.Parsed, text: string, place: string): Spot {
  if (!/^[^.[\]\s][^.[\]]*(?:\.[^.[\]]+|\[\d{1,6}\])*$/.test(place)) {
    throw new EditMistake(
      `${JSON.stringify(place)} isn't the place of a setting, such as plans.free.perMinute or routes[0].cost`,
    )
  }
  const used = aliasesIn(document)
  let rest = stepsOf(place)
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
    throw new EditMistake(
      `${nameOf(path)} has ${node.items.length} entries, so ${nameOf([...path, step])} can't be written`,
    )
  }
  const [start = 0, end = start] = node?.range ?? []
  const written = isScalar(node) ? text.slice(start, end) : isSeq(node) ? 'a list' : 'a section'
  throw new EditMistake(
    `${nameOf(path)} is ${written}, so ${nameOf([...path, step])} can't be written: change ${nameOf(path)} as a whole`,
  )
}

/** Throws where a change would show at other places too, or come from one. */
function requireOwn({ node, path }: Spot, used: ReadonlySet<string>, text: string): void {
  const name = nameOf(path)
  if (isAlias(node)) {
    throw new EditMistake(
      `${name} is *${node.source}: change the setting with &${node.source}, or write ${name} out`,
    )
  }
  if (node?.anchor !== undefined && used.has(node.anchor)) {
    throw new EditMistake(`${name} is used elsewhere too, as *${node.anchor}: change it by hand`)
  }
  if (
    isMap<Node, Node>(node) &&
    node.items.some(({ key }) => isScalar(key) && key.value === '<<')
  ) {
    throw new EditMistake(`${name} merges another section (<<): change it by hand`)
  }
  const [start = 0, end = 0] = node?.range ?? []
  const written = text.slice(start, end)
  if (isScalar(node) && written.includes('${')) {
    throw new EditMistake(
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

function stepsOf(place: string): Path {
  return [...place.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(
    ([, name, index]) => name ?? Number(index),
  )
}

function isNothing(node: Node | null): boolean {
  return node === null || (isScalar(node) && node.value === null)
}

/** A value inside of the sections and lists that lead to it. */
function nested(steps: Path, value: unknown): unknown {
  return steps.reduceRight<unknown>(
    (inner, step) => (typeof step === 'number' ? [inner] : { [step]: inner }),
    value,
  )
}

/** A document whose values keep `${NAME}`. */
function documentOf(text: string): Document.Parsed {
  return parseDocument(guardedText(text), { prettyErrors: false, logLevel: 'error' })
}

/** The names of all anchors that are used. */
function aliasesIn(document: Document): ReadonlySet<string> {
  const names = new Set<string>()
  visit(document, { Alias: (_key, { source }) => void names.add(source) })
  return names
}

/** Plain values; what an alias stands for is there once more. */
function plain(document: Document): unknown {
  return JSON.parse(baredText(JSON.stringify(document.toJS()) ?? 'null'))
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
