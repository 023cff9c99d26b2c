import { isScalar, visit, type Document, type Node, type Scalar } from 'yaml'
import type { Mistake } from './mistake.ts'
import { unreadSecret, secretIn } from '../../../shared/secret-files.ts'
import {
  baredText,
  filledIn,
  secretFileOf,
  type Environment,
  type ReadSecret,
} from './variables.ts'

/**
 * How much of the environment a document reads: the values of variables, each of which must be set; those of the set ones; or
 * only the names. Files of secrets are read like variables, and those that can't be are like ones that aren't set.
 */
export type Reading = 'values' | 'set values' | 'names'

/** The values of a document that variables are part of. Making it fills the variables in. */
export class FilledValues {
  /** Variables that are missing. */
  readonly mistakes: readonly Mistake[]
  /** The text of each value with variables, before they were filled in. */
  readonly #sources = new Map<Scalar, string>()
  /** The values that come from the environment, as they are shown: with `${NAME}`. */
  readonly #placeholders = new Map<Scalar, string>()
  /** The variables that are part of each value. */
  readonly #variables = new Map<unknown, readonly string[]>()
  /** The name of each variable that was filled in, by its value. */
  readonly #nameByValue = new Map<string, string>()
  /** The secrets in files, each of which is read once. */
  readonly #secrets = new Map<string, ReturnType<ReadSecret>>()
  readonly #reading: Reading
  readonly #readSecret: ReadSecret
  /** The values that only another environment decides. */
  readonly #unknown = new Set<unknown>()
  readonly #unset = new Set<string>()

  constructor(
    document: Document,
    environment: Environment | undefined,
    reading: Reading,
    readSecret: ReadSecret = secretIn,
  ) {
    this.#reading = reading
    this.#readSecret = readSecret
    const mistakes: Mistake[] = []
    this.mistakes = mistakes
    if (!environment) return
    visit(document, {
      Scalar: (key, node) => {
        if (typeof node.value !== 'string') return
        const written = baredText(node.value)
        node.value = written
        // Variables aren't filled into names: names of plans and upstreams are shown where values are masked.
        if (key === 'key' || !written.includes('${')) return
        mistakes.push(...this.#fill(node, written, environment))
      },
    })
  }

  /** Whether a value contains variables, filled in from the environment or with their defaults. */
  has(node: Node | null): boolean {
    return isScalar(node) && this.#sources.has(node)
  }

  /** Whether a secret of a file is part of a value. It is a text then, and never shown. */
  hasSecret(node: Node | null): boolean {
    return this.variablesOf(node).some((name) => secretFileOf(name) !== undefined)
  }

  /** The secrets that were read from files. */
  get secrets(): ReadonlyMap<string, string> {
    const read = [...this.#secrets].flatMap(([file, { text }]) =>
      text === undefined ? [] : [[file, text] as const],
    )
    return new Map(read)
  }

  /** The text of a value before variables were filled in, or their defaults; `undefined` if none were. */
  sourceOf(node: Node | null): string | undefined {
    return isScalar(node) ? this.#sources.get(node) : undefined
  }

  /** The variables whose values are part of a value. */
  variablesOf(node: Node | null): readonly string[] {
    return this.#variables.get(node) ?? []
  }

  /** Whether only another environment decides a value. */
  isUnknown(node: Node | null): boolean {
    return this.#unknown.has(node)
  }

  /** The variables that aren't set, where that is no mistake. */
  get unset(): readonly string[] {
    return [...this.#unset]
  }

  /** A foreign text, such as an error message, with `${NAME}` in place of the variables' values. */
  withNames(text: string): string {
    const longestFirst = [...this.#nameByValue].sort(([one], [other]) => other.length - one.length)
    // Values under four characters aren't secrets, and would match inside ordinary words.
    return longestFirst
      .filter(([value]) => value.length >= 4)
      .reduce((masked, [value, name]) => masked.replaceAll(value, () => `\${${name}}`), text)
  }

  /** Reads while `${NAME}` stands in place of values from the environment. */
  withPlaceholders<Read>(read: () => Read): Read {
    // With `names`, it stands there anyway.
    if (this.#reading === 'names') return read()
    return standingIn(this.#placeholders, read)
  }

  /** Reads while each value stands as it is written. */
  asWritten<Read>(read: () => Read): Read {
    return standingIn(this.#sources, read)
  }

  /** Reads while values that only another environment decides are missing. */
  withoutUnknown<Read>(read: () => Read): Read {
    const unknown = [...this.#placeholders.keys()].filter((node) => this.#unknown.has(node))
    return standingIn(new Map(unknown.map((node) => [node, undefined])), read)
  }

  /** Fills the variables into a value, and reports a missing one. */
  *#fill(node: Scalar, written: string, environment: Environment): Generator<Mistake> {
    this.#sources.set(node, written)
    const { text, withPlaceholders, nameByValue, missing, unread } = filledIn(
      written,
      environment,
      (file) => this.#secretIn(file),
    )
    if (/\$\{\w+:-[^}]*\$\{/.test(written)) {
      const sentence = () => 'a default can have no variable in it'
      yield { offset: node.range?.[0] ?? 0, sentence }
      return
    }
    const [first] = missing
    if (first !== undefined && this.#reading !== 'set values') {
      const file = secretFileOf(first)
      const sentence = () =>
        file === undefined
          ? `the environment variable ${first} is not set; set it, or write \${${first}:-default}`
          : unreadSecret(file, unread.get(file) ?? '')
      yield { offset: node.range?.[0] ?? 0, sentence }
      return
    }
    const names = new Set([...nameByValue.values(), ...missing])
    if (names.size > 0) {
      this.#placeholders.set(node, withPlaceholders)
      this.#variables.set(node, [...names])
    }
    for (const [value, name] of nameByValue) this.#nameByValue.set(value, name)
    for (const name of missing) this.#unset.add(name)
    const isUnknown = missing.size > 0 || (names.size > 0 && this.#reading === 'names')
    if (isUnknown) this.#unknown.add(node)
    node.value = isUnknown ? withPlaceholders : text
  }

  #secretIn(file: string): ReturnType<ReadSecret> {
    // Only its name is read: it stands for itself.
    if (this.#reading === 'names') return { text: `\${file:${file}}` }
    const secret = this.#secrets.get(file) ?? this.#readSecret(file)
    this.#secrets.set(file, secret)
    return secret
  }
}

/** Reads while other values stand in a document, then puts the former ones back. */
function standingIn<Read>(values: ReadonlyMap<Scalar, unknown>, read: () => Read): Read {
  const before = [...values.keys()].map((node) => [node, node.value] as const)
  for (const [node, value] of values) node.value = value
  const result = read()
  for (const [node, value] of before) node.value = value
  return result
}
