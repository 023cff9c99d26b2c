import type { Operation } from '../../operations/operation.ts'
import { argumentsOf, commonOptions, optionsOf, type Option } from '../options.ts'

/** A word that a shell may offer, with the help that zsh and fish show beside it. */
export type Offer = Readonly<{ word: string; help: string }>

/** Values that shells find by themselves, by the word for the value in help: files, and the plans of the configuration. */
const found: Readonly<Record<string, Offer>> = {
  FILE: { word: ':file', help: '' },
  PLAN: { word: ':plan', help: '' },
}

/**
 * All that shells offer, by places. A place is the words of a command or of its beginning, such as `tollgate keys`, or these
 * and an option that takes a value, such as `tollgate config check --format`; of a value that has no list it has no offers.
 */
export type Table = ReadonlyMap<string, readonly Offer[]>

/** The places of all commands, so that completion follows their list. */
export function tableOf(operations: readonly Operation[]): Table {
  const table = new Map<string, Map<string, Offer>>()
  const offer = (place: string, offers: readonly Offer[]): void => {
    const there = table.get(place) ?? new Map<string, Offer>()
    for (const each of offers) if (!there.has(each.word)) there.set(each.word, each)
    table.set(place, there)
  }
  const addOptions = (place: string, options: readonly (readonly [string, Option])[]): void => {
    for (const [name, option] of options) {
      if (option.value !== undefined && !option.bare) offer(`${place} --${name}`, valuesOf(option))
    }
  }
  for (const operation of operations) {
    const names = operation.name.split(' ').filter((word) => !word.startsWith('--'))
    const options = Object.entries(optionsOf(operation))
    let place = 'tollgate'
    for (const [i, word] of names.entries()) {
      offer(place, [{ word, help: i === names.length - 1 ? operation.summary : '' }])
      // Options may stand before the words of a command.
      addOptions(place, options)
      place += ` ${word}`
    }
    addOptions(place, options)
    offer(place, argumentsOf(operation).flatMap(valuesOf))
    offer(place, options.map(offerOf))
    offerSwitches(operation, place, offer)
  }
  for (const place of groupsIn(operations)) offer(place, Object.entries(commonOptions).map(offerOf))
  offer('tollgate', [{ word: '--version', help: 'print the version' }])
  return new Map([...table].map(([place, offers]) => [place, [...offers.values()]]))
}

/** Offers options that are words of a command's name, such as `--from` of `keys create --from FILE`, which has a value. */
function offerSwitches(
  operation: Operation,
  place: string,
  offer: (place: string, offers: readonly Offer[]) => void,
): void {
  for (const word of operation.name.split(' ').filter((each) => each.startsWith('--'))) {
    offer(place, [{ word, help: operation.summary }])
    offer(`${place} ${word}`, argumentsOf(operation).flatMap(valuesOf))
  }
}

/** The beginnings of commands that are no commands themselves. */
function groupsIn(operations: readonly Operation[]): ReadonlySet<string> {
  const beginnings = operations.flatMap(({ name }) => {
    const words = ['tollgate', ...name.split(' ')]
    return words.slice(0, -1).map((_, i) => words.slice(0, i + 1).join(' '))
  })
  return new Set(beginnings)
}

function offerOf([name, { help }]: readonly [string, Option]): Offer {
  return { word: `--${name}`, help }
}

/** The values of an option or an argument. */
function valuesOf({
  word,
  value = word,
  words = [],
}: Readonly<{
  word?: string
  value?: string | undefined
  words?: readonly string[] | undefined
}>): readonly Offer[] {
  const byShell = found[value ?? '']
  if (byShell) return [byShell]
  return words.map((each) => ({ word: each, help: '' }))
}
