import { withMore } from '../../../shared/and-more.ts'
import { isMap, isNode, isScalar, isSeq, type Node } from 'yaml'
import { isOf, type AnySchema } from '../../../shared/schema.ts'
import type { ConfigDocument } from './document.ts'
import { Mistakes, mostMistakes, type Mistake, type Path } from './mistake.ts'
import { isHidden, isSecretName } from './mask.ts'
import type { Rule } from './settings/setting.ts'
import { nearest } from '../../../shared/near.ts'

/** All mistakes of a file against its schema, each at its offset. */
export function mistakesIn(document: ConfigDocument, schema: AnySchema): Iterable<Mistake> {
  return faults(document, schema, document.root, [], 0)
}

/** The first mistakes of a value against its schema, as sentences. Messages call it `name`. */
export function sentencesAbout(document: ConfigDocument, schema: AnySchema, name: string): string {
  const { mistakes } = new Mistakes(mistakesIn(document, schema))
  const sentences = mistakes.first.map(({ sentence }) => sentence().replace(/^the file/, name))
  return withMore(sentences, mistakes.more).join('; ')
}

function* faults(
  document: ConfigDocument,
  rule: Rule,
  written: Node | null,
  path: Path,
  /** The offset of the section around it, for a setting that isn't written. */
  sectionOffset: number,
): Generator<Mistake> {
  const node = document.resolve(written)
  const offset = written?.range?.[0] ?? sectionOffset
  const passes = (rule: Rule): boolean =>
    document.passes(node, (value) => isOf(rule as AnySchema, value))
  const sentence = (): string => {
    const got = shownValue(document, rule, node, path)
    const hint =
      document.filled.sourceOf(node) === undefined ? hintFor(rule, document.value(node)) : ''
    return `${nameOf(path)} must be ${expectation(rule)}, got ${got}${hint}`
  }
  const wrong = { offset, path, sentence }
  const chosen = rule.anyOf ? choice(rule.anyOf, node) : rule
  if (document.filled.isUnknown(node)) {
    if (!mayBeScalar(rule)) yield wrong
  } else if (!chosen) {
    if (!passes(rule)) yield wrong
  } else if (chosen.properties || chosen.patternProperties) {
    if (isMap<Node, Node>(node)) yield* sectionFaults(document, chosen, node, path, offset)
    else yield wrong
  } else if (chosen.items) {
    const { minItems = 0, maxItems = Infinity } = chosen
    // The items of YAML's ordered maps are pairs.
    if (!isSeq(node) || !node.items.every(isNode)) yield wrong
    else if (node.items.length < minItems || node.items.length > maxItems) yield wrong
    else
      for (const [i, item] of node.items.entries()) {
        yield* faults(document, chosen.items, item, [...path, i], offset)
      }
  } else if (!passes(chosen)) yield wrong
}

/**
 * A value as messages quote it. The value of a variable is quoted only where it can't be a secret: where a number, one
 * of a few words, a duration or a size is expected, and the value is as short as one.
 */
function shownValue(document: ConfigDocument, rule: Rule, node: Node | null, path: Path): string {
  const quoted = document.quote(node, path)
  const variables = document.filled.variablesOf(node)
  if (variables.length === 0) return quoted
  if (document.filled.hasSecret(node)) return `${quoted}, whose text isn't shown`
  const value = String(document.value(node))
  const isSecret = [String(path.at(-1)), ...variables].some(isSecretName)
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
): ReturnType<typeof faults> {
  const { properties = {}, required = [] } = rule
  const [pattern = ''] = Object.keys(rule.patternProperties ?? {})
  const rest = rule.patternProperties?.[pattern]
  const names = new Set<string>()
  const strange: string[] = []
  const pairs = withoutCutNumbers(node.items)
  for (const { key, value, digits } of pairs) {
    const name = isScalar(key) ? String(key.value) : ''
    const memberPath = [...path, name]
    const at = key.range?.[0] ?? offset
    names.add(name)
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    const member = property ?? (rest && new RegExp(pattern).test(name) ? rest : undefined)
    if (digits !== undefined && !isHidden(path)) {
      const sentence = () => `${nameOf(memberPath)} must be written without commas: ${digits}`
      yield { offset: value?.range?.[0] ?? at, path: memberPath, sentence }
    } else if (member) yield* faults(document, member, value, memberPath, at)
    else if (rest) {
      const sentence = (): string => {
        const plain = name.toLowerCase()
        const hint = plain !== name && new RegExp(pattern).test(plain) ? didYouMean(plain) : ''
        // A value may stand there as well, where the space behind the colon is missing.
        const shown = isHidden(path) ? `${/^[\w-]*/.exec(name)?.[0]}…` : name
        return `${nameOf(path)} must be ${expectation(rule)}, got ${shown}${hint}`
      }
      yield { offset: at, path, sentence }
    } else {
      strange.push(name)
      const sentence = () => unknown(memberPath, Object.keys(properties))
      yield { offset: at, path: memberPath, sentence }
    }
  }
  // A misspelled setting isn't reported as missing too, where it is told at all.
  for (const name of strange.slice(0, mostMistakes)) {
    names.add(nearest(name, Object.keys(properties)) ?? name)
  }
  for (const name of required) {
    const missing = [...path, name]
    const sentence = () => `${nameOf(missing)} is missing`
    if (!names.has(name)) yield { offset, path: missing, sentence }
  }
  if (rest && names.size === 0) {
    const sentence = () => `${nameOf(path)} must be ${expectation(rule)}, got nothing`
    yield { offset, path, sentence }
  }
}

/** YAML reads `{ perHour: 10,000 }` as two settings, `perHour: 10` and `000`. This joins them again. */
function withoutCutNumbers(pairs: readonly Pair[]): (Pair & { digits?: string })[] {
  const whole: (Pair & { digits?: string })[] = []
  for (const pair of pairs) {
    const { key, value } = pair
    const before = whole.at(-1)
    const isCut = value === null && isScalar(key) && /^\d{3}$/.test(key.source ?? '')
    const first = isCut && isScalar(before?.value) ? (before.value.source ?? '') : ''
    // The digits so far are looked at no more: a text may be one long number.
    const start = before?.digits ?? (/^\d+$/.test(first) ? first : undefined)
    if (before && isCut && start !== undefined) before.digits = `${start}${key.source}`
    else whole.push({ ...pair })
  }
  return whole
}

/** The list, or the most likely one of several sections that a setting may be: the one that shares the most names, and words, with it. */
function choice(rules: readonly Rule[], node: Node | null): Rule | undefined {
  if (isSeq(node)) return rules.find(({ items }) => items !== undefined)
  if (!isMap<Node, Node>(node)) return undefined
  const values = new Map(
    node.items.map(({ key, value }) => [isScalar(key) ? String(key.value) : '', value]),
  )
  const fit = ({ properties = {}, required = [] }: Rule): number => {
    const known = [...values].filter(([name]) => Object.hasOwn(properties, name))
    const words = known.filter(
      ([name, value]) => isScalar(value) && value.value === properties[name]?.const,
    )
    const missing = required.filter((name) => !values.has(name))
    return known.length + 2 * words.length - missing.length
  }
  const sections = rules.filter(({ properties, patternProperties: named }) => properties ?? named)
  return [...sections].sort((a, b) => fit(b) - fit(a))[0]
}

/** Whether the rule allows a single value, rather than a section or a list only. */
export function mayBeScalar({ properties, patternProperties, items, anyOf }: Rule): boolean {
  if (anyOf) return anyOf.some(mayBeScalar)
  return !properties && !patternProperties && !items
}

/** A suggestion for a text that breaks its rule; empty if nothing is near. */
function hintFor(rule: Rule, value: unknown): string {
  if (typeof value !== 'string') return ''
  const digits = value.replace(/[,_' ]/g, '')
  const isNumber = digits !== value && /^\d{1,15}$/.test(digits)
  if (isNumber && isOf(rule as AnySchema, Number(digits))) return didYouMean(digits)
  const isWord = /^[\w-]+$/.test(value)
  const spelled = [value.toLowerCase(), value.toUpperCase()].find(
    (each) => isWord && isOf(rule as AnySchema, each),
  )
  const near = spelled ?? nearest(value, wordsOf(rule))
  return near === undefined ? '' : didYouMean(near)
}

function wordsOf({ anyOf = [], enum: words = [], const: word }: Rule): string[] {
  const own = [...words, word].filter((each) => typeof each === 'string')
  return [...own, ...anyOf.flatMap(wordsOf)]
}

function didYouMean(name: string): string {
  return `; did you mean ${name}?`
}

function unknown(path: Path, names: readonly string[]): string {
  const [name, section] = [String(path.at(-1)), path.slice(0, -1)]
  const near = nearest(name, names)
  const hint = near === undefined ? `; there are ${names.join(', ')}` : didYouMean(near)
  return `${nameOf(section)} has no setting ${JSON.stringify(name)}${hint}`
}

function expectation({ expected, anyOf }: Rule): string {
  if (expected !== undefined) return expected
  return anyOf?.map((each) => expectation(each)).join(' or ') ?? 'something else'
}

/** A path as messages write it, such as `plans.free.perHour` or `routes[0].path`. */
export function nameOf(path: Path): string {
  if (path.length === 0) return 'the file'
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')
}
