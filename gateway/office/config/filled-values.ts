import { visit, type Document, type Node, type Scalar } from 'yaml'
import { entryOf } from '../../../shared/entry-of.ts'
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

/** A value with variables, or with their defaults. */
type Filled = Readonly<{
  node: Scalar
  /** Its text before they were filled in. */
  source: string
  /** Its text as it is shown, with `${NAME}`, if it comes from the environment. */
  placeholder?: string
  /** The variables that are part of it. */
  variables: readonly string[]
  /** Whether only another environment decides it. */
  isUnknown: boolean
}>

/** The values of a document that variables are part of. Making it fills the variables in. */
export class FilledValues {
  /** Variables that are missing. */
  readonly mistakes: readonly Mistake[]
  readonly #values = new Map<unknown, Filled>()
  /** The name of each variable that was filled in, by its value. */
  readonly #nameByValue = new Map<string, string>()
  /** The secrets in files, each of which is read once. */
  readonly #secrets = new Map<string, ReturnType<ReadSecret>>()
  readonly #reading: Reading
  readonly #readSecret: ReadSecret
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
    return this.#values.get(node)?.source
  }

  /** The variables whose values are part of a value. */
  variablesOf(node: Node | null): readonly string[] {
    return this.#values.get(node)?.variables ?? []
  }

  /** Whether only another environment decides a value. */
  isUnknown(node: Node | null): boolean {
    return this.#values.get(node)?.isUnknown === true
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
    return this.#standingIn(({ node, placeholder = node.value }) => placeholder, read)
  }

  /** Reads while each value stands as it is written. */
  asWritten<Read>(read: () => Read): Read {
    return this.#standingIn(({ source }) => source, read)
  }

  /** Reads while values that only another environment decides are missing. */
  withoutUnknown<Read>(read: () => Read): Read {
    return this.#standingIn(({ node, isUnknown }) => (isUnknown ? undefined : node.value), read)
  }

  /** Reads while other values stand in the document, then puts the former ones back. */
  #standingIn<Read>(valueOf: (filled: Filled) => unknown, read: () => Read): Read {
    const before = [...this.#values.values()].map(({ node }) => [node, node.value] as const)
    for (const filled of this.#values.values()) filled.node.value = valueOf(filled)
    const result = read()
    for (const [node, value] of before) node.value = value
    return result
  }

  /** Fills the variables into a value, and reports a missing one. */
  *#fill(node: Scalar, written: string, environment: Environment): Generator<Mistake> {
    const filled = { node, source: written, variables: [], isUnknown: false }
    this.#values.set(node, filled)
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
    const isUnknown = missing.size > 0 || (names.size > 0 && this.#reading === 'names')
    if (names.size > 0) {
      const ofEnvironment = { placeholder: withPlaceholders, variables: [...names], isUnknown }
      this.#values.set(node, { ...filled, ...ofEnvironment })
    }
    for (const [value, name] of nameByValue) this.#nameByValue.set(value, name)
    for (const name of missing) this.#unset.add(name)
    node.value = isUnknown ? withPlaceholders : text
  }

  #secretIn(file: string): ReturnType<ReadSecret> {
    // Only its name is read: it stands for itself.
    if (this.#reading === 'names') return { text: `\${file:${file}}` }
    return entryOf(this.#secrets, file, () => this.#readSecret(file))
  }
}
