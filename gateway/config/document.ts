import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Document,
  type Node,
  type Pair,
  type Scalar,
} from 'yaml'
import { withoutTokens } from '../../shared/log.ts'
import { maskedJson, withoutPasswords } from './mask.ts'
import { baredText, filledIn, guardedText, type Environment } from './variables.ts'
import { aliasesOfNothing, yamlSentence } from './yaml-sentences.ts'

/** How much a document may have of an environment: what variables say, or only which ones there are. */
export type Reading = 'values' | 'names'

/** Where something stands: names of settings, and places in lists from 0. */
export type Path = readonly (string | number)[]

/** Something that is wrong with a file, at an offset of its text; a warning, if it works nevertheless. */
export type Mistake = Readonly<{ offset: number; sentence: string; isWarning?: boolean }>

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
  /** Which variables have put something into a value. */
  readonly #variables = new Map<Node | null, readonly string[]>()
  /** What variables have said, and their names. */
  readonly #said = new Map<string, string>()
  readonly #reading: Reading

  /**
   * Without an environment, `${NAME}` is a text as any other. Of a text from somebody who may not see the
   * environment only names are read: a value that a variable decides is not known then, and stays `${NAME}`.
   */
  constructor(text: string, environment?: Environment, reading: Reading = 'values') {
    this.#reading = reading
    const guarded = environment ? guardedText(text) : text
    const document = parseDocument(guarded, {
      lineCounter: this.#lines,
      prettyErrors: false,
      logLevel: 'error',
    })
    const broken = document.errors.filter(({ code }) => code !== 'DUPLICATE_KEY')
    const [first] = broken.sort((a, b) => a.pos[0] - b.pos[0])
    this.root = document.contents
    this.value = (node) => (node === null ? null : node.toJS(document))
    this.resolve = (node) =>
      node !== null && 'resolve' in node ? (node.resolve(document) ?? null) : node
    // Of what follows a first fault of YAML, most would be about what that has shifted.
    const mistakes = first
      ? [{ offset: first.pos[0], sentence: yamlSentence(first, text) }]
      : [
          ...document.errors.map(({ pos }) => this.#twice(text, pos[0])),
          ...this.#fillAll(document, environment),
        ]
    const orphans = first ? [] : aliasesOfNothing(document)
    const isReadable = first === undefined && orphans.length === 0
    const isBomb = isReadable && !canUnfold(() => document.toJS())
    if (isBomb) mistakes.push({ offset: 0, sentence: 'its aliases make too much of it' })
    this.mistakes = [...mistakes, ...orphans]
    this.isSound = isReadable && !isBomb
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

  /**
   * Whether what stands there passes a check. What comes from the environment is a text; where that doesn't pass, it
   * is a number, or true or false, if that does.
   */
  passes(node: Node | null, check: (value: unknown) => boolean): boolean {
    if (check(this.value(node))) return true
    if (!isScalar(node) || !this.isFilled(node)) return false
    const other = otherwiseRead(node.value)
    if (other === undefined || !check(other)) return false
    node.value = other
    return true
  }

  /** Whether a value has been filled in, with what the environment says or with what is written for its silence. */
  isFilled(node: Node | null): boolean {
    return this.#written.has(node)
  }

  /** The variables that have put something into a value. */
  variablesOf(node: Node | null): readonly string[] {
    return this.#variables.get(node) ?? []
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

  /** Whether a part of the file is missing, or has one of some mistakes in it. */
  hasOneIn(path: Path, mistakes: readonly Mistake[]): boolean {
    const nodes = [...this.#along(path)]
    const [start, , end] = nodes.at(-1)?.range ?? []
    if (nodes.length < path.length || start === undefined || end === undefined) return true
    return mistakes.some(({ offset }) => offset >= start && offset < end)
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

  #fillAll(document: Document, environment: Environment | undefined): Mistake[] {
    const mistakes: Mistake[] = []
    visit(document, {
      Scalar: (key, node) => {
        if (!environment || typeof node.value !== 'string') return
        const written = baredText(node.value)
        node.value = written
        // A name of a plan or an upstream is told in places where no value is.
        if (key === 'key' || !written.includes('${')) return
        mistakes.push(...this.#fill(node, written, environment))
      },
    })
    return mistakes
  }

  /** Fills in what the environment says; tells of what it doesn't. */
  *#fill(node: Scalar, written: string, environment: Environment): Generator<Mistake> {
    this.#written.set(node, written)
    const { text, named, said, missing } = filledIn(written, environment)
    if (missing !== undefined) {
      const sentence = `the environment variable ${missing} is not set; set it, or write \${${missing}:-otherwise}`
      yield { offset: node.range?.[0] ?? 0, sentence }
      return
    }
    if (said.size > 0) {
      this.#names.set(node, named)
      this.#variables.set(node, [...new Set(said.values())])
    }
    for (const [value, name] of said) this.#said.set(value, name)
    node.value = said.size > 0 && this.#reading === 'names' ? named : text
  }

  #twice(text: string, offset: number): Mistake {
    const [name = ''] = /^[^:\r\n]*/.exec(text.slice(offset)) ?? []
    return { offset, sentence: `${name.trim()} is there twice` }
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

/** What a text is besides a text: a number, or true or false. */
function otherwiseRead(value: unknown): number | boolean | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,15}(?:\.\d{1,15})?$/.test(value)) return Number(value)
  return value === 'true' || (value === 'false' ? false : undefined)
}
