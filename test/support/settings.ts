type Rule = Readonly<{
  expected?: string
  properties?: Readonly<Record<string, Rule>>
  patternProperties?: Readonly<Record<string, Rule>>
  items?: Rule
  anyOf?: readonly Rule[]
  const?: unknown
  default?: unknown
}>

/** Every setting of a schema by its place, such as `plans.NAME.perDay`, and what may stand there. */
export function settingsOf(schema: object): Map<string, string> {
  const all = new Map<string, string>()
  for (const [place, { expected, const: word }] of settings(schema, '')) {
    const [before, text] = [all.get(place), expected ?? JSON.stringify(word)]
    // Of sections that may stand in one place, each has its own rule.
    const isSame = before === undefined || before.split(' or ').includes(text) || before === text
    all.set(place, isSame ? (before ?? text) : `${before} or ${text}`)
  }
  return all
}

/** The default of every setting that has one, by its place. */
export function defaultsOf(schema: object): Map<string, unknown> {
  const all = [...settings(schema, '')].map(([place, rule]) => [place, rule.default] as const)
  return new Map(all.filter(([, initial]) => initial !== undefined))
}

function* settings(rule: Rule, place: string): Generator<[string, Rule]> {
  const within = (name: string): string => (place === '' ? name : `${place}.${name}`)
  const either = rule.anyOf ?? [rule]
  const isSection = (each: Rule): boolean => Boolean(each.properties ?? each.patternProperties)
  const items = (each: Rule): readonly Rule[] =>
    each.items?.anyOf ?? (each.items ? [each.items] : [])
  const isListOfSections = (each: Rule): boolean => items(each).some(isSection)
  if (!either.every((each) => isSection(each) || isListOfSections(each))) {
    yield [place, rule]
  }
  for (const each of either) {
    for (const [name, member] of Object.entries(each.properties ?? {})) {
      yield* settings(member, within(name))
    }
    for (const member of Object.values(each.patternProperties ?? {})) {
      yield* settings(member, within('NAME'))
    }
    if (each.items && isListOfSections(each)) yield* settings(each.items, `${place}[]`)
  }
}
