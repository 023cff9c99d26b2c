import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Node,
  type Pair,
  type Scalar,
} from 'yaml'
import { withoutTokens } from '../../shared/log.ts'
import { maskedJson, withoutPasswords } from './mask.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** How much a document may have of an environment: what variables say, or only which ones there are. */
export type Reading = 'values' | 'names'

/** Where something stands: names of settings, and places in lists from 0. */
export type Path = readonly (string | number)[]

/** Something that is wrong with a file, at an offset of its text. */
export type Mistake = Readonly<{ offset: number; sentence: string }>

/** A configuration file as it is written: its values, and where each of them stands. */
export class ConfigDocument {
  /** What can't even be read as settings. */
  readonly mistakes: readonly Mistake[]
  readonly root: Node | null
  /** Whether it can be looked at setting by setting. */
  readonly isSound: boolean
  readonly #lines = new LineCounter()
  readonly #written = new Map<unknown, string>()
  /** What the environment has decided, as it is shown: `${NAME}`. */
  readonly #names = new Map<Scalar, string>()
  /** What variables have said, and their names. */
  readonly #said = new Map<string, string>()
  readonly #reading: Reading

  /**
   * Without an environment, `${NAME}` is a text as any other. Of a text from somebody who may not see the
   * environment only names are read: a value that a variable decides is not known then, and stays `${NAME}`.
   */
  constructor(text: string, environment?: Environment, reading: Reading = 'values') {
    this.#reading = reading
    const document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false })
    const mistakes: Mistake[] = document.errors.map(({ pos, code, message }) => ({
      offset: pos[0],
      sentence: code === 'DUPLICATE_KEY' ? this.#twice(text, pos) : `this is no YAML: ${message}`,
    }))
    visit(document, {
      Scalar: (key, node) => {
        if (!environment || typeof node.value !== 'string' || !node.value.includes('${')) return
        // A name of a plan or an upstream is told in places where no value is.
        if (key === 'key') return
        this.#written.set(node, node.value)
        const filled = filledIn(node.value, environment)
        if (filled.missing === undefined) {
          if (filled.said.size > 0) this.#names.set(node, filled.named)
          for (const [value, name] of filled.said) this.#said.set(value, name)
          const value = filled.said.size > 0 && reading === 'names' ? filled.named : filled.text
          const isPlain = node.type === 'PLAIN' && /^\d{1,15}$/.test(value)
          node.value = isPlain ? Number(value) : value
          return
        }
        const offset = node.range?.[0] ?? 0
        const { missing } = filled
        const sentence = `the environment variable ${missing} is not set; set it, or write \${${missing}:-otherwise}`
        mistakes.push({ offset, sentence })
      },
    })
    const isBomb = document.errors.length === 0 && !canUnfold(() => document.toJS())
    if (isBomb) mistakes.push({ offset: 0, sentence: 'its aliases make too much of it' })
    this.mistakes = mistakes
    this.isSound = !isBomb && document.errors.every(({ code }) => code === 'DUPLICATE_KEY')
    this.root = document.contents
    this.value = (node) => (node === null ? null : node.toJS(document))
    this.resolve = (node) =>
      node !== null && 'resolve' in node ? (node.resolve(document) ?? null) : node
  }

  /** What a part of the file says, as plain values. */
  readonly value: (node: Node | null) => unknown

  /** What all of the file says, with `${NAME}` where the environment has decided. */
  shown(): unknown {
    return this.#named(this.root)
  }

  /** What all of the file says as far as it is known here: without what another environment decides. */
  known(): unknown {
    if (this.#reading === 'values') return this.value(this.root)
    const nothing = new Map([...this.#names.keys()].map((node) => [node, undefined] as const))
    return this.#with(nothing, () => this.value(this.root))
  }

  /** Whether only another environment can say what stands there. */
  isUnknown(node: Node | null): boolean {
    return this.#reading === 'names' && isScalar(node) && this.#names.has(node)
  }

  /** A text of somebody else's, such as an error, without what variables have said in the file. */
  withNames(text: string): string {
    const longestFirst = [...this.#said].sort(([one], [other]) => other.length - one.length)
    // What is shorter is no secret, and is in many a word.
    return longestFirst
      .filter(([value]) => value.length >= 4)
      .reduce((told, [value, name]) => told.replaceAll(value, () => `\${${name}}`), text)
  }

  /** What stands in the place of an alias. */
  readonly resolve: (node: Node | null) => Node | null

  /** The line and column of an offset, from 1. */
  position(offset: number): string {
    const { line, col } = this.#lines.linePos(offset)
    return `${line}:${col}`
  }

  /** Where a setting stands; if it isn't written, where it would be. */
  offsetOf(path: Path): number {
    let offset = 0
    for (const node of this.#along(path)) offset = node?.range?.[0] ?? offset
    return offset
  }

  /**
   * A value as it is written, for a message: shortened, and without what is secret. What comes from the
   * environment may be a password; `name` says that the value is one.
   */
  quote(node: Node | null, name = ''): string {
    const written = this.#written.get(node)
    if (written !== undefined) return shortened(String(maskedJson(name, written)))
    const value = this.#named(node)
    return shortened(
      value === null ? 'nothing' : JSON.stringify(maskedJson(name, value), maskedJson),
    )
  }

  /** The same of what stands at a place, as a word among others; nothing if nothing does. */
  wordAt(path: Path): string | undefined {
    const nodes = [...this.#along(path)]
    if (nodes.length < path.length) return undefined
    const node = this.resolve(nodes.at(-1) ?? null)
    const value = this.#written.get(node) ?? (isScalar(node) ? node.value : undefined)
    return typeof value === 'string' ? shortened(withoutPasswords(value)) : undefined
  }

  /** What is written on the way to a place, as far as it is there. */
  *#along(path: Path): Generator<Node | null> {
    let node = this.root
    for (const step of path) {
      const pair = pairOf(node, step)
      const item = isSeq(node) && typeof step === 'number' ? (node.items[step] as Node) : undefined
      const next = pair?.value ?? item
      if (next === undefined) return
      yield next
      node = this.resolve(next)
    }
  }

  /** What a part of the file says, with `${NAME}` where the environment has decided. */
  #named(node: Node | null): unknown {
    // Where only names are read, they stand in it anyway.
    if (this.#reading === 'names' || isScalar(node)) return this.value(node)
    return this.#with(this.#names, () => this.value(node))
  }

  /** What is read while other values stand in the file. */
  #with<Read>(values: ReadonlyMap<Scalar, unknown>, read: () => Read): Read {
    const before = [...values.keys()].map((node) => [node, node.value] as const)
    for (const [node, value] of values) node.value = value
    const told = read()
    for (const [node, value] of before) node.value = value
    return told
  }

  #twice(text: string, [start]: readonly [number, number]): string {
    const [name = ''] = /^[^:\r\n]*/.exec(text.slice(start)) ?? []
    return `${name.trim()} is there twice`
  }
}

/** The pair of a map by its name. */
function pairOf(node: Node | null, name: string | number): Pair<Node, Node | null> | undefined {
  if (!isMap<Node, Node | null>(node)) return undefined
  return node.items.find(({ key }) => isScalar(key) && String(key.value) === String(name))
}

/** Whether a document can be made values of: the library stops where aliases multiply. */
function canUnfold(unfold: () => unknown): boolean {
  try {
    unfold()
    return true
  } catch {
    return false
  }
}

function shortened(text: string): string {
  const masked = withoutTokens(text)
  return masked.length > 60 ? `${masked.slice(0, 60)}…` : masked
}

type Filled = Readonly<{
  text: string
  /** The same, with `${NAME}` for what variables say; what they leave to the file is as it says. */
  named: string
  /** What variables have said, and their names. */
  said: ReadonlyMap<string, string>
  missing?: string
}>

const variable = /\$\{(\w+)(?::-([^}]*))?\}/g

function filledIn(text: string, environment: Environment): Filled {
  let missing: string | undefined
  const said = new Map<string, string>()
  const fill = (shows: (value: string, name: string) => string): string =>
    text.replace(variable, (_all, name: string, otherwise?: string) => {
      const value = environment[name]
      if (value !== undefined && value !== '') {
        said.set(value, name)
        return shows(value, name)
      }
      if (otherwise === undefined) missing ??= name
      return otherwise ?? ''
    })
  const filled = { text: fill((value) => value), named: fill((_, name) => `\${${name}}`), said }
  return missing === undefined ? filled : { ...filled, missing }
}
