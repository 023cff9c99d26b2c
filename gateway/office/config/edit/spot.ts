import { withCommas } from '../../../../shared/commas.ts'
import { isAlias, isMap, isScalar, isSeq, visit, type Document, type Node } from 'yaml'
import { nameOf } from '../check.ts'
import type { Path } from '../mistake.ts'
import type { Spot } from './splice.ts'
import { WrongInput } from '../../wrong-input.ts'

/** The most levels of a place: no setting has half as many. */
const mostSteps = 20

/** Follows a place through the file, as far as it is written. */
export function spotOf(document: Document.Parsed, text: string, setting: string): Spot {
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
export function isNothing(node: Node | null): boolean {
  return node === null || (isScalar(node) && node.value === null)
}

/** The names of all anchors that are used. */
function aliasesIn(document: Document): ReadonlySet<string> {
  const names = new Set<string>()
  visit(document, { Alias: (_key, { source }) => void names.add(source) })
  return names
}
