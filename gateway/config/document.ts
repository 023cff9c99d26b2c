import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  visit,
  type Document,
  type Node,
  type Pair,
  type Scalar,
  type YAMLParseError,
} from 'yaml'
import { withoutTokens } from '../../shared/log.ts'
import type { Pieces } from '../../shared/pieces.ts'
import { maskedJson, withoutPasswords } from './mask.ts'
import { baredText, filledIn, guardedText, type Environment } from './variables.ts'
import { yamlDocument } from './yaml-document.ts'
import { aliasesOfNothing, yamlSentence } from './yaml-sentences.ts'

/** How much of the environment a document reads: the values of variables, or only their names. */
export type Reading = 'values' | 'names'

/** The path of a setting: names, and indexes in lists from 0. */
export type Path = readonly (string | number)[]

/** A mistake in a file, at an offset of its text. A warning doesn't keep the file from being used. */
export type Mistake = Readonly<{ offset: number; sentence: string; isWarning?: boolean }>

type Source = Readonly<{
  text: string
  lines: LineCounter
  environment: Environment | undefined
  reading: Reading
  /** The first error of YAML: it shifts everything after it, so further errors would mislead. */
  broken: YAMLParseError | undefined
  orphans: readonly Mistake[]
  isBomb: boolean
}>

/** A configuration file as it is written: its values, and the offset of each. */
export class ConfigDocument {
  /** Mistakes that the reading itself finds: of YAML, and missing variables. */
  readonly mistakes: readonly Mistake[]
  readonly root: Node | null
  /** Whether it can be checked setting by setting. */
  readonly isSound: boolean
  readonly #lines: LineCounter
  /** The text of each value with variables, before they were filled in. */
  readonly #sources = new Map<unknown, string>()
  /** The values that come from the environment, as they are shown: with `${NAME}`. */
  readonly #placeholders = new Map<Scalar, string>()
  /** The variables that are part of each value. */
  readonly #variables = new Map<Node | null, readonly string[]>()
  /** The name of each variable that was filled in, by its value. */
  readonly #nameByValue = new Map<string, string>()
  readonly #reading: Reading

  /**
   * Without an environment, `${NAME}` is ordinary text. With `names` (for a text from somebody who may not see the
   * environment), a value that a variable decides is unknown and stays `${NAME}`.
   */
  static *read(
    text: string,
    environment?: Environment,
    reading: Reading = 'values',
  ): Pieces<ConfigDocument> {
    const lines = new LineCounter()
    const document = yield* yamlDocument(environment ? guardedText(text) : text, lines)
    yield
    const [broken] = document.errors
      .filter(({ code }) => code !== 'DUPLICATE_KEY')
      .sort((a, b) => a.pos[0] - b.pos[0])
    const orphans = broken ? [] : aliasesOfNothing(document)
    yield
    const isReadable = !broken && orphans.length === 0
    const isBomb = isReadable && !canUnfold(() => document.toJS())
    yield
    const about = { broken, orphans, isBomb }
    return new ConfigDocument(document, { text, lines, environment, reading, ...about })
  }

  private constructor(document: Document.Parsed, source: Source) {
    const { text, lines, environment, reading, broken, orphans, isBomb } = source
    this.#lines = lines
    this.#reading = reading
    this.root = document.contents
    this.value = (node) => (node === null ? null : node.toJS(document))
    this.resolve = (node) =>
      node !== null && 'resolve' in node ? (node.resolve(document) ?? null) : node
    const mistakes = broken
      ? [{ offset: broken.pos[0], sentence: yamlSentence(broken, text) }]
      : [
          ...document.errors.map(({ pos }) => this.#twice(text, pos[0])),
          ...this.#fillAll(document, environment),
        ]
    if (isBomb) mistakes.push({ offset: 0, sentence: 'YAML aliases expand to too much data' })
    this.mistakes = [...mistakes, ...orphans]
    this.isSound = !broken && orphans.length === 0 && !isBomb
  }

  /** A part of the file as plain values. */
  readonly value: (node: Node | null) => unknown

  /** The whole file as plain values, with `${NAME}` in place of values from the environment. */
  shown(): unknown {
    return this.#withPlaceholders(this.root)
  }

  /** The whole file as plain values, without those that only another environment decides. */
  knownValues(): unknown {
    if (this.#reading === 'values') return this.value(this.root)
    const nothing = new Map(
      [...this.#placeholders.keys()].map((node) => [node, undefined] as const),
    )
    return this.#with(nothing, () => this.value(this.root))
  }

  /**
   * Whether a value passes a check. A value from the environment is a text at first; if the text doesn't pass but its
   * reading as a number, true or false does, the value becomes that.
   */
  passes(node: Node | null, check: (value: unknown) => boolean): boolean {
    if (check(this.value(node))) return true
    if (!isScalar(node) || !this.isFilled(node)) return false
    const parsed = numberOrBoolean(node.value)
    if (parsed === undefined || !check(parsed)) return false
    node.value = parsed
    return true
  }

  /** Whether a value contains variables, filled in from the environment or with their defaults. */
  isFilled(node: Node | null): boolean {
    return this.#sources.has(node)
  }

  /** The variables whose values are part of a value. */
  variablesOf(node: Node | null): readonly string[] {
    return this.#variables.get(node) ?? []
  }

  /** Whether only another environment decides a value. */
  isUnknown(node: Node | null): boolean {
    return this.#reading === 'names' && isScalar(node) && this.#placeholders.has(node)
  }

  /** A foreign text, such as an error message, with `${NAME}` in place of the variables' values. */
  withNames(text: string): string {
    const longestFirst = [...this.#nameByValue].sort(([one], [other]) => other.length - one.length)
    // Values under four characters aren't secrets, and would match inside ordinary words.
    return longestFirst
      .filter(([value]) => value.length >= 4)
      .reduce((masked, [value, name]) => masked.replaceAll(value, () => `\${${name}}`), text)
  }

  /** The node that an alias stands for; any other node is itself. */
  readonly resolve: (node: Node | null) => Node | null

  /** The line and column of an offset, from 1. */
  position(offset: number): string {
    const { line, col } = this.#lines.linePos(offset)
    return `${line}:${col}`
  }

  /** The offset of a setting; if it isn't written, that of the section around it. */
  offsetOf(path: Path): number {
    let offset = 0
    for (const node of this.#along(path)) offset = node?.range?.[0] ?? offset
    return offset
  }

  /**
   * The line of a setting, from 1: that of its name, or of the short form in which it is written, such as `custom` for a
   * plan. `undefined` for a setting that isn't written.
   */
  lineOf(path: Path): number | undefined {
    let node = this.root
    let offset: number | undefined
    for (const step of path) {
      if (isScalar(node) && offset !== undefined) break
      const pair = pairOf(node, step)
      const item = isSeq(node) && typeof step === 'number' ? (node.items[step] as Node) : undefined
      const place = isScalar(pair?.key) ? pair.key : item
      if (!place?.range) return undefined
      offset = place.range[0]
      node = this.resolve(pair?.value ?? item ?? null)
    }
    return offset === undefined ? undefined : this.#lines.linePos(offset).line
  }

  /** Whether a part of the file is missing, or contains one of these mistakes. */
  hasOneIn(path: Path, mistakes: readonly Mistake[]): boolean {
    const nodes = [...this.#along(path)]
    const [start, , end] = nodes.at(-1)?.range ?? []
    if (nodes.length < path.length || start === undefined || end === undefined) return true
    return mistakes.some(({ offset }) => offset >= start && offset < end)
  }

  /**
   * A value as it is written, for a message: shortened, without secrets, and with `${NAME}` for variables. The name of
   * the setting decides whether the whole value is a secret.
   */
  quote(node: Node | null, name = ''): string {
    const written = this.#sources.get(node)
    if (written !== undefined) return shortened(String(maskedJson(name, written)))
    const value = this.#withPlaceholders(node)
    return shortened(
      value === null ? 'nothing' : JSON.stringify(maskedJson(name, value), maskedJson),
    )
  }

  /** The text at a path without quotes, for a message; `undefined` if no text is there. */
  wordAt(path: Path): string | undefined {
    const nodes = [...this.#along(path)]
    if (nodes.length < path.length) return undefined
    const node = this.resolve(nodes.at(-1) ?? null)
    const value = this.#sources.get(node) ?? (isScalar(node) ? node.value : undefined)
    return typeof value === 'string' ? shortened(withoutPasswords(value)) : undefined
  }

  /** The nodes along a path, as far as they exist. */
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

  /** A part of the file as plain values, with `${NAME}` in place of values from the environment. */
  #withPlaceholders(node: Node | null): unknown {
    // With `names`, placeholders are already in the values.
    if (this.#reading === 'names' || isScalar(node)) return this.value(node)
    return this.#with(this.#placeholders, () => this.value(node))
  }

  /** Reads while other values stand in the file, then puts the former ones back. */
  #with<Read>(values: ReadonlyMap<Scalar, unknown>, read: () => Read): Read {
    const before = [...values.keys()].map((node) => [node, node.value] as const)
    for (const [node, value] of values) node.value = value
    const result = read()
    for (const [node, value] of before) node.value = value
    return result
  }

  #fillAll(document: Document, environment: Environment | undefined): Mistake[] {
    const mistakes: Mistake[] = []
    visit(document, {
      Scalar: (key, node) => {
        if (!environment || typeof node.value !== 'string') return
        const written = baredText(node.value)
        node.value = written
        // Variables aren't filled into names: names of plans and upstreams are shown where values are masked.
        if (key === 'key' || !written.includes('${')) return
        mistakes.push(...this.#fill(node, written, environment))
      },
    })
    return mistakes
  }

  /** Fills the variables into a value, and reports a missing one. */
  *#fill(node: Scalar, written: string, environment: Environment): Generator<Mistake> {
    this.#sources.set(node, written)
    const { text, withPlaceholders, nameByValue, missing } = filledIn(written, environment)
    if (missing !== undefined) {
      const sentence = `the environment variable ${missing} is not set; set it, or write \${${missing}:-default}`
      yield { offset: node.range?.[0] ?? 0, sentence }
      return
    }
    if (nameByValue.size > 0) {
      this.#placeholders.set(node, withPlaceholders)
      this.#variables.set(node, [...new Set(nameByValue.values())])
    }
    for (const [value, name] of nameByValue) this.#nameByValue.set(value, name)
    node.value = nameByValue.size > 0 && this.#reading === 'names' ? withPlaceholders : text
  }

  #twice(text: string, offset: number): Mistake {
    const [name = ''] = /^[^:\r\n]*/.exec(text.slice(offset)) ?? []
    return { offset, sentence: `${name.trim()} is written twice` }
  }
}

/** A pair of a map, by its name. */
function pairOf(node: Node | null, name: string | number): Pair<Node, Node | null> | undefined {
  if (!isMap<Node, Node | null>(node)) return undefined
  return node.items.find(({ key }) => isScalar(key) && String(key.value) === String(name))
}

/** Whether a document can become plain values: the library throws where aliases multiply. */
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

/** A text read as a number, true or false; `undefined` if it is none of them. */
function numberOrBoolean(value: unknown): number | boolean | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,15}(?:\.\d{1,15})?$/.test(value)) return Number(value)
  return value === 'true' || (value === 'false' ? false : undefined)
}
