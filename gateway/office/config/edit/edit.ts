import { applyPatch } from 'diff/lib/patch/apply.js'
import { structuredPatch } from 'diff/lib/patch/create.js'
import {
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  visit,
  type Document,
  type Node,
} from 'yaml'
import { withCommas } from '../../../../shared/commas.ts'
import { WrongInput } from '../../wrong-input.ts'
import { nameOf } from '../check.ts'
import type { Path } from '../mistake.ts'
import { baredText, guardedText } from '../variables.ts'
import { isDeeper, mostLevels, yamlDocument } from '../yaml-document.ts'

/** New values of settings by their places, such as `plans.free.perHour`; `null` takes a setting away. */
export type Settings = Readonly<Record<string, unknown>>

/** The most settings that are changed at once: the text is read again after each. */
const mostSettings = 20

/** The most levels of a place: no setting has half as many. */
const mostSteps = 20

/**
 * A file's text, which must be valid YAML, with other settings. Every other line stays, with comments, order, quotes and
 * `${NAME}`. A file in which that can't be is written anew by the library, which keeps all but spaces,
 * blank lines and breaks inside of texts.
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

/** The end of a place in a file, as far as it is written. */
type Spot = Readonly<{
  node: Node | null
  path: Path
  /** The path as the library takes it: a name may be a number in YAML. */
  keys: readonly unknown[]
  /** The steps that aren't written. */
  missing: Path
}>

function withSetting(written: Written, setting: string, value: unknown): Written {
  const { text, document } = written
  if (isDeeper(value, mostLevels)) {
    throw new WrongInput(`the value of ${setting} has more than ${mostLevels} levels`)
  }
  const spot = spotOf(document, text, setting)
  if (value === null && spot.missing.length > 0) {
    throw new WrongInput(`${setting} isn't written in the file`)
  }
  requireBare(spot, text)
  const [values, lines] = [valuesOf(document), wholeText(document, text)]
  change(document, spot, value)
  const [after, whole] = [valuesOf(document), wholeText(document, text)]
  // Another spelling of the same value, such as a quoted one, stays.
  if (values === after) return read(text)
  const patch = structuredPatch('', '', lines, whole, '', '', { context: 1 })
  if (value === null) patch.hunks.forEach(keepComments)
  const patched = applyPatch(text, patch, {
    compareLine: (_number, line, _operation, other) => spaceless(line) === spaceless(other),
    fuzzFactor: 1,
  })
  const anew = text.includes('\r\n') ? whole.replaceAll('\n', '\r\n') : whole
  for (const source of [patched, value !== null && anew]) {
    const edited = source === false ? undefined : read(source)
    if (edited?.document.errors.length === 0 && valuesOf(edited.document) === after) return edited
  }
  throw new WrongInput(`${setting} can't be changed alone: change it by hand`)
}

/** The library takes the comments above a setting away with it. They may be about the next one, or show another value. */
function keepComments(hunk: { lines: string[] }): void {
  hunk.lines = hunk.lines.map((line) => line.replace(/^-(?=\s*(?:#|$))/, ' '))
}

function change(document: Document.Parsed, { keys, missing, node }: Spot, value: unknown): void {
  if (value === null) return void document.deleteIn(keys)
  const isReplaced = missing.length === 0 || isNothing(node)
  const inner = nested(isReplaced ? missing : missing.slice(1), value)
  // A value in place of another keeps its quotes.
  if (isReplaced && isScalar(node) && typeof inner !== 'object') return document.setIn(keys, inner)
  const fresh = document.createNode(inner)
  // In one line, with what is said behind it.
  if (isCollection(fresh)) fresh.flow = true
  if (!isReplaced) return document.setIn([...keys, missing[0]], fresh)
  document.setIn(keys, Object.assign(fresh, { comment: node?.comment }))
}

/** A document as the library writes it, with as many spaces as the text has before what is inside. */
function wholeText(document: Document, text: string): string {
  const indent = /^( +)[^\s#]/m.exec(text)?.[1]?.length ?? 2
  return baredText(
    document.toString({
      indent,
      indentSeq: !/^( *)\S.*:\s*\n\1- /m.test(text),
      lineWidth: 0,
      singleQuote: true,
    }),
  )
}

function spaceless(line: string | undefined): string | undefined {
  // A patch may look behind the last line.
  return line?.replace(/\s/g, '')
}

/** Throws if comments, variables or anchors would be lost with what is written at a spot. */
function requireBare({ node, path, missing }: Spot, text: string): void {
  if (missing.length > 0 || !isCollection(node)) return
  const source = text.slice(...(node.range ?? [0, 0]))
  const what = source.includes('${')
    ? 'values from the environment (${…})'
    : Boolean(node.commentBefore) || /(?:^|\s)#/.test(source)
      ? 'comments inside'
      : /(?:^|[\s[{,:])[&*]\w/.test(source)
        ? 'anchors or aliases inside'
        : undefined
  if (what !== undefined) throw new WrongInput(`${nameOf(path)} has ${what}: change it by hand`)
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
  let spot: Spot = { node: document.contents, missing: [], path: [], keys: [] }
  for (;;) {
    requireOwn(spot, used, text)
    const [index, taken] = inside(spot.node, rest)
    if (index < 0 || rest.length === 0) return { ...spot, missing: missingAt(spot, rest, text) }
    const pair = isMap<Node, Node | null>(spot.node) ? spot.node.items[index] : undefined
    const item = pair ? pair.value : isSeq<Node>(spot.node) ? spot.node.items[index] : null
    spot = {
      node: item ?? null,
      missing: [],
      path: [...spot.path, pair ? rest.slice(0, taken).join('.') : index],
      keys: [...spot.keys, pair ? pair.key : index],
    }
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
