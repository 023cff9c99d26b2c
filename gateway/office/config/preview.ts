import { andMore } from '../../../shared/and-more.ts'
import type { Plan } from '../../front/limits/plan.ts'
import { mistakesIn, nameOf } from './check.ts'
import { ConfigError } from './config-error.ts'
import { contradictionsIn, type World } from './contradictions/contradictions.ts'
import { ConfigDocument, cut } from './document.ts'
import { findingLine, furtherFinding, type Finding } from './finding.ts'
import { Mistakes, type Mistake, type Path } from './mistake.ts'
import type { ConfigFile } from './file.ts'
import { frozen } from '../../../shared/frozen.ts'
import { plansFrom } from './interpret.ts'
import { fileSchema } from './schema.ts'
import { shownFrom } from './show.ts'
import { hasToken, type Environment } from './variables.ts'
import { withDefaults, type CompleteFile } from './defaults.ts'
import { isMap, isScalar, isSeq, type Node } from 'yaml'
import { isMasked } from './mask.ts'

/** The most letters of a message, and of a place. */
const longest = 2_000

/** A sentence about a setting, without its subject. */
export type Fault = readonly [path: Path, sentence: string]

/** A file without mistakes, and the places of its settings. */
export type Preview = ReturnType<typeof previewOf>

/** A key or an account with a later sunset, and its place in the file. */
export type Extended = Readonly<{ path: Path; key?: string; account?: string }>

/**
 * Checks a text from somebody who may see neither this machine's environment nor its files: it reads only the names of
 * variables, and no files. Throws as `parseConfig` does.
 */
export function previewConfig(text: string, environment: Environment, name: string): Preview {
  const document = new ConfigDocument(text, environment, 'names')
  const world = { files: undefined, adminToken: hasToken(environment), needsRoutes: true }
  return previewOf(document, name, world)
}

/** Checks a document; throws a `ConfigError` with all its mistakes. */
export function previewOf(document: ConfigDocument, name: string, world: World) {
  const { mistakes, warnings } = mistakesOf(document, world)
  const findings = findingsOf(document, name, [...mistakes.first, ...warnings.first])
  if (warnings.more > 0) findings.push(furtherFinding(`${andMore(warnings.more)} warnings`, true))
  const wrong = findings.filter(({ isWarning }) => !isWarning).map(findingLine)
  if (wrong.length > 0) throw ConfigError.of(wrong, { more: mistakes.more, findings })
  const about = (remarks: readonly Fault[], isWarning: boolean): Finding[] => {
    const faults = remarks.map(([path, sentence]) => {
      const offset = document.places.offsetOf(path)
      return { offset, path, sentence: () => `${nameOf(path)} ${sentence}`, isWarning }
    })
    return findingsOf(document, name, faults)
  }
  // `shown` has the form that was just checked.
  const file = withDefaults(document.shown() as ConfigFile)
  const shown = frozen(shownFrom(file))
  return {
    /** The configuration as operators see it: complete, in the form of the file, without secrets. Each value may be a `${NAME}`. */
    shown,
    /** One line for each setting that works but makes no sense, with its place. */
    warnings: findings.map(findingLine),
    /** The same, with their parts. */
    findings,
    /** The variables that aren't set, of a document that may lack some. */
    unset: document.filled.unset,
    /** Its plans; `variable` for one whose limits wait for a variable of the environment. */
    plans: plansOf(file),
    /** A foreign text, such as an error message, with `${NAME}` in place of the variables' values. */
    withNames: (text: string) => document.filled.withNames(text),
    /** The text at a path as it is written, with `${NAME}`; `undefined` if no text is there. */
    wordAt: (path: Path) => document.wordAt(path),
    /** The keys and accounts that extensions of sunsets name, with the places of the names. */
    extended: extendedIn(file),
    /** An error about settings, each with its place in the file. */
    fault: (remarks: readonly Fault[]) => ConfigError.of(about(remarks, false).map(findingLine)),
    /** Warnings of settings, each with its place. */
    warningsOf: (remarks: readonly Fault[]) => about(remarks, true),
  }
}

/** All mistakes of a document, with its warnings. */
function mistakesOf(document: ConfigDocument, world: World): Mistakes {
  const mistakes = new Mistakes(document.mistakes())
  if (!document.isSound) return mistakes
  mistakes.add(mistakesIn(document, fileSchema))
  mistakes.add(maskedIn(document))
  mistakes.add(contradictionsIn(document, mistakes.offsets, world))
  return mistakes
}

function extendedIn({ deprecations }: ReturnType<typeof withDefaults>): Extended[] {
  return deprecations.flatMap(({ extensions }, i) =>
    extensions.flatMap((each, j) => {
      const whose = 'key' in each ? { key: each.key } : { account: each.account }
      const path = ['deprecations', i, 'extensions', j, ...Object.keys(whose)]
      return hasVariable(whose) ? [] : [{ path, ...whose }]
    }),
  )
}

/** The plans of a complete file; `variable` for one whose limits wait for a variable of the environment. */
export function plansOf({
  plans,
}: Pick<CompleteFile, 'plans'>): ReadonlyMap<string, Plan | 'variable'> {
  const entries = Object.entries(plans)
  return new Map<string, Plan | 'variable'>([
    ...entries.map(([name]) => [name, 'variable'] as const),
    ...plansFrom(Object.fromEntries(entries.filter((plan) => !hasVariable(plan)))),
  ])
}

/** The mistakes with their places, in the order of the file; none of them twice. */
function findingsOf(
  document: ConfigDocument,
  name: string,
  mistakes: readonly Mistake[],
): Finding[] {
  const sorted = [...mistakes].sort((a, b) => a.offset - b.offset)
  const findings = sorted.map(({ offset, sentence, isWarning = false, path }): Finding => {
    const { line, column } = document.places.position(offset)
    const place = path ?? document.places.pathAt(offset)
    const named = place.length === 0 ? '' : cut(nameOf(place), longest)
    const message = cut(sentence(), longest)
    return { file: name, line, column, place: named, message, isWarning }
  })
  return [...new Map(findings.map((finding) => [findingLine(finding), finding])).values()]
}

function hasVariable(value: unknown): boolean {
  return JSON.stringify(value).includes('${')
}

/** Values in a file that were copied from masked output: each has lost its secret. */
function maskedIn(document: ConfigDocument): Iterable<Mistake> {
  return masked(document.root, [])
}

function* masked(node: Node | null, path: Path): Generator<Mistake> {
  if (isMap<Node, Node | null>(node)) {
    for (const { key, value } of node.items) {
      if (isScalar(key)) yield* masked(value, [...path, String(key.value)])
    }
  } else if (isSeq<Node>(node)) {
    for (const [i, item] of node.items.entries()) yield* masked(item, [...path, i])
  } else if (isScalar(node) && typeof node.value === 'string') {
    if (!isMasked(path, node.value)) return
    const sentence = () =>
      `${nameOf(path)} has … in place of a secret, as config show prints it: write the secret, or \${NAME}`
    yield { offset: node.range?.[0] ?? 0, path, sentence }
  }
}
