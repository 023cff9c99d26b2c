import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Node,
  type Pair,
} from 'yaml'
import { withoutTokens } from '../../shared/log.ts'

export type Environment = Readonly<Record<string, string | undefined>>

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

  /** Without an environment, `${NAME}` is a text as any other. */
  constructor(text: string, environment?: Environment) {
    const document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false })
    const mistakes: Mistake[] = document.errors.map(({ pos, code, message }) => ({
      offset: pos[0],
      sentence: code === 'DUPLICATE_KEY' ? this.#twice(text, pos) : `this is no YAML: ${message}`,
    }))
    visit(document, {
      Scalar: (_key, node) => {
        if (!environment || typeof node.value !== 'string' || !node.value.includes('${')) return
        this.#written.set(node, node.value)
        const filled = filledIn(node.value, environment)
        if (filled.missing === undefined) {
          const isPlain = node.type === 'PLAIN' && /^\d{1,15}$/.test(filled.text)
          node.value = isPlain ? Number(filled.text) : filled.text
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

  /** What stands in the place of an alias. */
  readonly resolve: (node: Node | null) => Node | null

  /** The line and column of an offset, from 1. */
  position(offset: number): string {
    const { line, col } = this.#lines.linePos(offset)
    return `${line}:${col}`
  }

  /** Where a setting stands; if it isn't written, where it would be. */
  offsetOf(path: Path): number {
    let node = this.root
    let offset = 0
    for (const step of path) {
      const pair = pairOf(node, step)
      const item = isSeq(node) && typeof step === 'number' ? (node.items[step] as Node) : undefined
      const next = pair?.value ?? item
      if (next === undefined) return offset
      node = this.resolve(next)
      offset = next?.range?.[0] ?? offset
    }
    return offset
  }

  /** A value as it is written, for a message: shortened, and without what is secret. */
  quote(node: Node | null): string {
    const written = this.#written.get(node)
    // What comes from the environment may be a password.
    const value = this.value(node)
    const text = written ?? (value === null ? 'nothing' : JSON.stringify(value))
    const masked = withoutTokens(text).replace(/\/\/[^/@\s"]*@/g, '//…@')
    return masked.length > 60 ? `${masked.slice(0, 60)}…` : masked
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

function filledIn(text: string, environment: Environment): { text: string; missing?: string } {
  let missing: string | undefined
  const filled = text.replace(
    /\$\{(\w+)(?::-([^}]*))?\}/g,
    (_all, name: string, otherwise?: string) => {
      const value = environment[name]
      if (value !== undefined && value !== '') return value
      if (otherwise === undefined) missing ??= name
      return otherwise ?? ''
    },
  )
  return missing === undefined ? { text: filled } : { text: filled, missing }
}
