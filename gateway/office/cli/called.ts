import type { Operation } from '../operations/operation.ts'
import { tokensOf } from './arguments.ts'
import { optionsOf, type Options } from './options.ts'

/** The command that some words call, and the words beside its name. */
export type Called = Readonly<{ operation: Operation; rest: string[] }>

/** Finds the command of some words: its options may stand before, between and behind the words of its name. */
export function calledBy(
  words: readonly string[],
  operations: readonly Operation[],
): Called | undefined {
  let called: Called | undefined
  for (const operation of operations) {
    if (operation.name.length < (called?.operation.name.length ?? 0)) continue
    const rest = wordsBeside(operation, words)
    if (rest) called = { operation, rest }
  }
  return called
}

/** The words beside those of a command's name; `undefined` if they name another one. */
function wordsBeside(operation: Operation, words: readonly string[]): string[] | undefined {
  const name = operation.name.split(' ')
  if (!name.every((word) => words.some((each) => each.split('=', 1)[0] === word))) return undefined
  const switches = name.filter((word) => word.startsWith('--'))
  const { args, tokens } = tokensOf(withSwitches(optionsOf(operation), switches), words)
  const places = new Set<number>()
  const positionals = tokens.filter(({ kind }) => kind === 'positional')
  for (const word of name) {
    const token = word.startsWith('--')
      ? tokens.find((each) => each.kind === 'option' && each.rawName === word)
      : positionals.shift()
    if (!token || (token.kind === 'positional' && token.value !== word)) return undefined
    places.add(token.index)
  }
  return args.flatMap((arg, index) => {
    if (!places.has(index)) return arg
    const value = arg.startsWith('--') ? arg.split('=').slice(1).join('=') : ''
    return value === '' ? [] : value
  })
}

/** Options with those that are words of a command's name, such as `--from`. */
function withSwitches(options: Options, switches: readonly string[]): Options {
  const more = switches.map((word) => [word.slice(2), { help: '' }])
  return { ...options, ...(Object.fromEntries(more) as Options) }
}
