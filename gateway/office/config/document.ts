import { isAlias, isScalar, LineCounter, type Document, type Node, type YAMLParseError } from 'yaml'
import { withoutTokens } from '../../../shared/log.ts'
import { FilledValues, type Reading } from './filled-values.ts'
import { maskedAt, maskedJson, withoutPasswords } from './mask.ts'
import type { Mistake, Path } from './mistake.ts'
import { Places } from './places.ts'
import { guardedText, type Environment, type ReadSecret } from './variables.ts'
import { isHuge, yamlDocument, yamlSentence } from './yaml-document.ts'

/** The most letters of a text that a message quotes. */
const mostQuoted = 60

/** The errors after which all other values are still what they seem. */
const ofOneValue: readonly string[] = ['DUPLICATE_KEY', 'BAD_ALIAS']

const bomb = 'YAML aliases expand to too much data'

/** A configuration file as it is written: its values, their places, and the variables in them. */
export class ConfigDocument {
  /** Whether it can be checked setting by setting. */
  readonly isSound: boolean
  readonly places: Places
  readonly filled: FilledValues
  readonly #text: string
  readonly #document: Document.Parsed
  /** The first error of YAML: it shifts everything after it, so further errors would mislead. */
  readonly #broken: YAMLParseError | undefined
  readonly #isBomb: boolean

  /**
   * Without an environment, `${NAME}` is ordinary text. With `names` (for a text from somebody who may not see the
   * environment), a value that a variable decides is unknown and stays `${NAME}`; with `set values`, one whose variable isn't set.
   */
  constructor(
    text: string,
    environment?: Environment,
    reading: Reading = 'values',
    readSecret?: ReadSecret,
  ) {
    const lines = new LineCounter()
    const document = yamlDocument(environment ? guardedText(text) : text, lines)
    this.#text = text
    this.#document = document
    this.#broken = document.errors
      .filter(({ code }) => !ofOneValue.includes(code))
      .toSorted((a, b) => a.pos[0] - b.pos[0])[0]
    const isReadable = document.errors.every(({ code }) => code === 'DUPLICATE_KEY')
    this.#isBomb = isReadable && (isHuge(document) || !canUnfold(document))
    this.isSound = isReadable && !this.#isBomb
    const resolve = (node: Node | null) => this.resolve(node)
    this.places = new Places({ root: document.contents, lines, resolve })
    const variables = this.#broken ? undefined : environment
    this.filled = new FilledValues(document, variables, reading, readSecret)
  }

  get root(): Node | null {
    return this.#document.contents
  }

  /** Mistakes that the reading itself finds: of YAML, and missing variables. */
  *mistakes(): Generator<Mistake> {
    const [text, broken] = [this.#text, this.#broken]
    if (broken) {
      yield { offset: broken.pos[0], path: [], sentence: () => yamlSentence(broken, text) }
    } else {
      for (const error of this.#document.errors) {
        const offset = error.pos[0]
        const isTwice = error.code === 'DUPLICATE_KEY'
        yield {
          offset,
          sentence: () => (isTwice ? twice(text, offset) : yamlSentence(error, text)),
        }
      }
      yield* this.filled.mistakes
    }
    if (this.#isBomb) yield { offset: 0, path: [], sentence: () => bomb }
  }

  /** A part of the file as plain values. */
  value(node: Node | null): unknown {
    return node === null ? null : node.toJS(this.#document)
  }

  /** The node that an alias stands for; any other node is itself. */
  resolve(node: Node | null): Node | null {
    return isAlias(node) ? (node.resolve(this.#document) ?? null) : node
  }

  /** The whole file as plain values, with `${NAME}` in place of values from the environment. */
  shown(): unknown {
    return this.filled.withPlaceholders(() => this.value(this.root))
  }

  /** The whole file as plain values, before variables were filled in. */
  written(): unknown {
    return this.filled.asWritten(() => this.value(this.root))
  }

  /** The whole file as plain values, without those that only another environment decides. */
  knownValues(): unknown {
    return this.filled.withoutUnknown(() => this.value(this.root))
  }

  /**
   * Whether a value passes a check. A value from the environment is a text at first; if the text doesn't pass but its
   * reading as a number, true or false does, the value becomes that. One from a file is always a text.
   */
  passes(node: Node | null, check: (value: unknown) => boolean): boolean {
    if (check(this.value(node))) return true
    if (!isScalar(node) || this.filled.sourceOf(node) === undefined || this.filled.hasSecret(node))
      return false
    const parsed = numberOrBoolean(node.value)
    if (parsed === undefined || !check(parsed)) return false
    node.value = parsed
    return true
  }

  /**
   * A value as it is written, for a message: shortened, without secrets, and with `${NAME}` for variables. The place of
   * the setting decides whether the whole value is a secret.
   */
  quote(node: Node | null, path: Path): string {
    const written = this.filled.sourceOf(node)
    if (written !== undefined) return shortened(String(maskedAt(path, written)))
    // A single value without variables has no placeholder.
    const value = isScalar(node)
      ? this.value(node)
      : this.filled.withPlaceholders(() => this.value(node))
    return shortened(value === null ? 'nothing' : JSON.stringify(maskedAt(path, value), maskedJson))
  }

  /** The text at a path without quotes, for a message; `undefined` if no text is there. */
  wordAt(path: Path): string | undefined {
    const node = this.resolve(this.places.nodeAt(path) ?? null)
    const value = this.filled.sourceOf(node) ?? (isScalar(node) ? node.value : undefined)
    return typeof value === 'string' ? shortened(withoutPasswords(value)) : undefined
  }
}

function twice(text: string, offset: number): string {
  const [name = ''] = /^[^:\r\n]*/.exec(text.slice(offset, offset + mostQuoted + 1)) ?? []
  return `${cut(name.trim())} is written twice`
}

/** Whether a document can become plain values: the library throws where aliases multiply. */
function canUnfold(document: Document): boolean {
  try {
    document.toJS()
    return true
  } catch {
    return false
  }
}

function shortened(text: string): string {
  return cut(withoutTokens(text))
}

/** A text that isn't too long for a line. A name may be as long as the file. */
export function cut(text: string, most = mostQuoted): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** A text read as a number, true or false; `undefined` if it is none of them. */
function numberOrBoolean(value: unknown): number | boolean | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,15}(?:\.\d{1,15})?$/.test(value)) return Number(value)
  return value === 'true' || (value === 'false' ? false : undefined)
}
