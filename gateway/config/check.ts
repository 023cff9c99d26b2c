import { isMap, isScalar, isSeq, type Node } from 'yaml'
import type { TSchema } from 'typebox'
import Value from 'typebox/value'
import type { ConfigDocument, Mistake, Path } from './document.ts'
import { isSecretName } from './mask.ts'
import { nearest } from './near.ts'

/** A schema as far as it is looked into: sections, lists, choices, and what must be as it says. */
type Rule = Readonly<{
  expected?: string
  type?: string
  properties?: Readonly<Record<string, Rule>>
  patternProperties?: Readonly<Record<string, Rule>>
  required?: readonly string[]
  items?: Rule
  minItems?: number
  anyOf?: readonly Rule[]
  const?: unknown
  enum?: readonly unknown[]
}>

/** Everything in a file that is not as its schema says, each told where it stands. */
export function mistakesIn(document: ConfigDocument, schema: TSchema): Mistake[] {
  return [...faults(document, schema, document.root, [], 0)]
}

function* faults(
  document: ConfigDocument,
  rule: Rule,
  written: Node | null,
  path: Path,
  otherwise: number,
): Generator<Mistake> {
  const node = document.resolve(written)
  const offset = written?.range?.[0] ?? otherwise
  const passes = (rule: Rule): boolean =>
    document.passes(node, (value) => Value.Check(rule as TSchema, value))
  const wrong = (): Mistake => {
    const found = foundAt(document, rule, node, String(path.at(-1)))
    const hint = document.isFilled(node) ? '' : hintFor(rule, document.value(node))
    return { offset, sentence: `${nameOf(path)} must be ${expectation(rule)}, got ${found}${hint}` }
  }
  const chosen = rule.anyOf ? choice(rule.anyOf, node) : rule
  if (document.isUnknown(node)) {
    if (!mayBeScalar(rule)) yield wrong()
  } else if (!chosen) {
    if (!passes(rule)) yield wrong()
  } else if (chosen.properties || chosen.patternProperties) {
    if (isMap<Node, Node>(node)) yield* sectionFaults(document, chosen, node, path, offset)
    else yield wrong()
  } else if (chosen.items) {
    if (!isSeq<Node>(node) || node.items.length < (chosen.minItems ?? 0)) yield wrong()
    else
      for (const [i, item] of node.items.entries()) {
        yield* faults(document, chosen.items, item, [...path, i], offset)
      }
  } else if (!passes(chosen)) yield wrong()
}

/**
 * The value at a place of the file. Of a variable's value, only what can't be a secret is told: where a number, a word of
 * some, a duration or a size is expected, and it is as short as one.
 */
function foundAt(document: ConfigDocument, rule: Rule, node: Node | null, name: string): string {
  const quoted = document.quote(node, name)
  const variables = document.variablesOf(node)
  if (variables.length === 0) return quoted
  const value = String(document.value(node))
  const isSecret = [name, ...variables].some(isSecretName)
  const from = variables.join(' and ')
  return !isSecret && isOfFewValues(rule) && /^[\w.,+-]{1,10}$/.test(value)
    ? `"${value}" from ${from}, written ${quoted}`
    : `${quoted}, where ${from} is set`
}

function isOfFewValues({ anyOf, type, const: word, expected = '' }: Rule): boolean {
  if (anyOf) return anyOf.every(isOfFewValues)
  if (type === 'string') return word !== undefined || /^a (?:duration|size)\b/.test(expected)
  return type !== 'object' && type !== 'array'
}

type Pair = Readonly<{ key: Node; value: Node | null }>

function* sectionFaults(
  document: ConfigDocument,
  rule: Rule,
  node: Node & { items: readonly Pair[] },
  path: Path,
  offset: number,
): Generator<Mistake> {
  const { properties = {}, required = [] } = rule
  const [pattern = ''] = Object.keys(rule.patternProperties ?? {})
  const rest = rule.patternProperties?.[pattern]
  const names = new Set<string>()
  const pairs = withoutCutNumbers(node.items)
  for (const { key, value, digits } of pairs) {
    const name = isScalar(key) ? String(key.value) : ''
    const place = [...path, name]
    const at = key.range?.[0] ?? offset
    names.add(name)
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    const member = known ?? (rest && new RegExp(pattern).test(name) ? rest : undefined)
    if (digits !== undefined) {
      const sentence = `${nameOf(place)} must be written without commas: ${digits}`
      yield { offset: value?.range?.[0] ?? at, sentence }
    } else if (member) yield* faults(document, member, value, place, at)
    else if (rest) {
      const plain = name.toLowerCase()
      const hint = plain !== name && new RegExp(pattern).test(plain) ? meant(plain) : ''
      const sentence = `${nameOf(path)} must be ${expectation(rule)}, got ${name}${hint}`
      yield { offset: at, sentence }
    } else {
      // What is meant by a misspelled name is not missing.
      names.add(nearest(name, Object.keys(properties)) ?? name)
      yield { offset: at, sentence: unknown(place, Object.keys(properties)) }
    }
  }
  for (const name of required) {
    if (!names.has(name)) yield { offset, sentence: `${nameOf([...path, name])} is missing` }
  }
  if (rest && names.size === 0) {
    yield { offset, sentence: `${nameOf(path)} must be ${expectation(rule)}, got nothing` }
  }
}

/** To YAML, `{ perDay: 10,000 }` has a second setting `000`; it goes back to where it was cut off. */
function withoutCutNumbers(pairs: readonly Pair[]): (Pair & { digits?: string })[] {
  const whole: (Pair & { digits?: string })[] = []
  for (const pair of pairs) {
    const { key, value } = pair
    const before = whole.at(-1)
    const isCut = value === null && isScalar(key) && /^\d{3}$/.test(key.source ?? '')
    const start = before?.digits ?? (isScalar(before?.value) ? before.value.source : undefined)
    if (before && isCut && /^\d+$/.test(start ?? '')) before.digits = `${start}${key.source}`
    else whole.push({ ...pair })
  }
  return whole
}

/** Of several sections that may stand in a place, the one that is most likely meant. */
function choice(rules: readonly Rule[], node: Node | null): Rule | undefined {
  if (!isMap<Node, Node>(node)) return undefined
  const names = node.items.map(({ key }) => (isScalar(key) ? String(key.value) : ''))
  const fit = ({ properties = {}, required = [] }: Rule): number =>
    names.filter((name) => Object.hasOwn(properties, name)).length -
    required.filter((name) => !names.includes(name)).length
  const sections = rules.filter(({ properties }) => properties !== undefined)
  return [...sections].sort((a, b) => fit(b) - fit(a))[0]
}

/** Whether a single value may stand there, rather than a section or a list. */
function mayBeScalar({ properties, patternProperties, items, anyOf }: Rule): boolean {
  if (anyOf) return anyOf.some(mayBeScalar)
  return !properties && !patternProperties && !items
}

/** What is most likely meant by a text that isn't one of those that may stand there. */
function hintFor(rule: Rule, value: unknown): string {
  if (typeof value !== 'string') return ''
  const digits = value.replace(/[,_' ]/g, '')
  const isNumber = digits !== value && /^\d{1,15}$/.test(digits)
  if (isNumber && Value.Check(rule as TSchema, Number(digits))) return meant(digits)
  const isWord = /^[\w-]+$/.test(value)
  const spelled = [value.toLowerCase(), value.toUpperCase()].find(
    (each) => isWord && Value.Check(rule as TSchema, each),
  )
  const near = spelled ?? nearest(value, wordsOf(rule))
  return near === undefined ? '' : meant(near)
}

function wordsOf({ anyOf = [], enum: words = [], const: word }: Rule): string[] {
  const own = [...words, word].filter((each) => typeof each === 'string')
  return [...own, ...anyOf.flatMap(wordsOf)]
}

function meant(name: string): string {
  return `; did you mean ${name}?`
}

function unknown(path: Path, known: readonly string[]): string {
  const [name, section] = [String(path.at(-1)), path.slice(0, -1)]
  const near = nearest(name, known)
  const hint = near === undefined ? `; there are ${known.join(', ')}` : meant(near)
  return `${nameOf(section)} has no setting ${JSON.stringify(name)}${hint}`
}

function expectation({ expected, anyOf }: Rule): string {
  if (expected !== undefined) return expected
  return anyOf?.map((each) => expectation(each)).join(' or ') ?? 'something else'
}

/** A place as it is written in messages, such as `plans.free.perMinute` or `routes[0].path`. */
export function nameOf(path: Path): string {
  if (path.length === 0) return 'the file'
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')
}
