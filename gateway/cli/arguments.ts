import { parseArgs } from 'node:util'
import { nearest } from '../config/near.ts'
import { optionsOf, UsageError, valueOf, type Command, type Input, type Option } from './command.ts'

type Options = Readonly<Record<string, Option>>
type Token = NonNullable<ReturnType<typeof parsed>['tokens']>[number]
type OptionToken = Extract<Token, { kind: 'option' }>

/** Takes apart what follows a command's name; throws a `UsageError` with a sentence. */
export function inputOf(command: Command, rest: string[]): Input {
  const options = optionsOf(command)
  const { tokens = [], values, positionals } = parsed(options, rest)
  const given = tokens.filter((token) => token.kind === 'option')
  for (const token of given) requireFit(token, command, options)
  const input: Input = { args: positionals, values }
  if (input.values['help']) return input
  requireOnce(given, options)
  requireArguments(command, positionals)
  for (const [name, { kind }] of Object.entries(options)) if (kind) valueOf(input, name, kind)
  return input
}

function parsed(options: Options, args: string[]) {
  const config = Object.entries(options).map(([name, { value, many = false }]) => [
    name,
    { type: value ? ('string' as const) : ('boolean' as const), multiple: many },
  ])
  return parseArgs({
    args: args.map((each) => (each === '-h' ? '--help' : each)),
    // Node's own sentences speak of its options, not of ours.
    ...{ strict: false, allowPositionals: true, tokens: true },
    options: Object.fromEntries(config) as Record<string, { type: 'string' | 'boolean' }>,
  })
}

/** An option that there is, with a value if it takes one. */
function requireFit(token: OptionToken, { name }: Command, options: Options): void {
  const { rawName, value, inlineValue } = token
  const option = options[token.name]
  if (!option || !rawName.startsWith('--')) {
    throw new UsageError(`"${name}" has no option ${rawName}${hint(token.name, options)}`)
  }
  if (!option.value) {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value, got "${value}"`)
    return
  }
  if (value === undefined) throw new UsageError(`${rawName} needs a value: ${option.value}`)
  if (!inlineValue && value.startsWith('-') && value.length > 1) {
    throw new UsageError(
      `${rawName} needs a value; one that begins with - is written ${rawName}=${value}`,
    )
  }
  if (value === '' && `no-${token.name}` in options) {
    throw new UsageError(`${rawName} is empty; --no-${token.name} takes away what the key has`)
  }
}

function hint(name: string, options: Options): string {
  const near = nearest(name, Object.keys(options))
  if (near !== undefined) return `; did you mean --${near}?`
  const all = Object.keys(options).map((each) => `--${each}`)
  return `; it has ${all.join(', ')}`
}

function requireOnce(given: readonly OptionToken[], options: Options): void {
  const names = new Set<string>()
  for (const { name } of given) {
    if (names.has(name) && !options[name]?.many) throw new UsageError(`--${name} is given twice`)
    names.add(name)
  }
  for (const name of names) {
    if (names.has(`no-${name}`)) {
      throw new UsageError(`--${name} and --no-${name} contradict each other`)
    }
  }
}

function requireArguments({ name, args: expected = [] }: Command, given: readonly string[]): void {
  const needed = expected.filter((each) => !each.startsWith('['))
  if (given.length >= needed.length && given.length <= expected.length) return
  const wanted = expected.length === 0 ? 'no arguments' : expected.join(' ')
  throw new UsageError(`"${name}" takes ${wanted}, got "${given.join(' ')}"`)
}
