import { parseArgs } from 'node:util'
import { nearest } from '../../../shared/near.ts'
import { WrongInput, type Operation } from '../operations/operation.ts'
import { argumentsOf, argumentWords, optionsOf, secretsOf, type Options } from './options.ts'

/** The arguments and options of a command, without the words of its name. */
export type Input = Readonly<{
  args: readonly string[]
  values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
}>

/** The command that some words call, and the words beside its name. */
export type Called = Readonly<{ operation: Operation; rest: string[] }>

type Token = ReturnType<typeof tokensOf>['tokens'][number]
type OptionToken = Extract<Token, { kind: 'option' }>

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
  const { args, tokens } = tokensOf(optionsOf(operation), words)
  const positionals = tokens.filter(({ kind }) => kind === 'positional').slice(0, name.length)
  const isNamed = name.every((word, i) => args[positionals[i]?.index ?? -1] === word)
  if (!isNamed) return undefined
  return args.filter((_, index) => positionals.every((token) => token.index !== index))
}

/** Reads the words after a command's name; throws a `WrongInput` if the command doesn't take them. */
export function inputOf(operation: Operation, rest: string[]): Input {
  const options = optionsOf(operation)
  const { tokens, values, positionals } = tokensOf(options, rest)
  const optionTokens = tokens.filter((token) => token.kind === 'option')
  for (const token of optionTokens) requireFit(token, operation, options)
  const input: Input = { args: positionals, values }
  if (input.values['help']) return input
  requireOnce(optionTokens, options)
  requireArguments(operation, positionals)
  return input
}

/** The tokens of some words by a command's options, and the words as they were read. */
export function tokensOf(options: Options, words: readonly string[]) {
  const config = Object.entries(options).map(([name, { value, many = false }]) => [
    name,
    { type: value ? ('string' as const) : ('boolean' as const), multiple: many },
  ])
  const args = words.map((each, i) => {
    if (each === '-h') return '--help'
    const { bare } = options[each.slice(2)] ?? {}
    return bare && !bare.isValue(words[i + 1] ?? '-') ? `${each}=${bare.text}` : each
  })
  const { tokens = [], ...read } = parseArgs({
    args,
    // Checked by us: Node's own messages would describe its API, not our commands.
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(config) as Record<string, { type: 'string' | 'boolean' }>,
  })
  return { args, tokens, ...read }
}

/** Throws unless the option exists, and has a value if it takes one. */
function requireFit(token: OptionToken, { name }: Operation, options: Options): void {
  const { rawName, value, inlineValue } = token
  const option = options[token.name]
  if (!option || !rawName.startsWith('--')) {
    throw new WrongInput(`"${name}" has no option ${rawName}${hint(token.name, options)}`)
  }
  if (!option.value) {
    if (value !== undefined) throw new WrongInput(`${rawName} takes no value, got "${value}"`)
    return
  }
  if (value === undefined) throw new WrongInput(`${rawName} needs a value: ${option.value}`)
  if (!inlineValue && value.startsWith('-') && value.length > 1) {
    throw new WrongInput(
      `${rawName} needs a value; one that begins with - is written ${rawName}=${value}`,
    )
  }
  if (value === '' && !option.mayBeEmpty && `no-${token.name}` in options) {
    throw new WrongInput(`${rawName} is empty; --no-${token.name} removes it from the key`)
  }
}

function hint(name: string, options: Options): string {
  const near = nearest(name, Object.keys(options))
  if (near !== undefined) return `; did you mean --${near}?`
  const all = Object.keys(options).map((each) => `--${each}`)
  return `; it has ${all.join(', ')}`
}

function requireOnce(tokens: readonly OptionToken[], options: Options): void {
  const names = new Set<string>()
  for (const { name } of tokens) {
    if (names.has(name) && !options[name]?.many) throw new WrongInput(`--${name} is given twice`)
    names.add(name)
  }
  for (const name of names) {
    if (names.has(`no-${name}`)) {
      throw new WrongInput(`--${name} and --no-${name} contradict each other`)
    }
  }
}

function requireArguments(operation: Operation, args: readonly string[]): void {
  const all = argumentsOf(operation)
  const { parameters, name } = operation
  const missing = all[args.length]
  if (missing?.isRequired) {
    throw new WrongInput(`"${name}" needs ${missing.word} (${missing.help})`)
  }
  if (args.length <= all.length) return
  // The word may be the secret.
  if (secretsOf(parameters, {}).length > 0) {
    throw new WrongInput(`"${name}" takes no arguments: what it asks for comes from standard input`)
  }
  const wanted = all.length === 0 ? 'no arguments' : argumentWords(operation).join(' ')
  const left = args.slice(all.length).join(' ')
  throw new WrongInput(
    `"${name}" takes ${wanted}, and "${left}" is too much; tollgate ${name} --help lists its options`,
  )
}
