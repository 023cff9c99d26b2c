import { anyText } from '../operations/kinds.ts'
import type { Parameter, Parameters } from '../operations/parameter.ts'
import type { Operation } from '../operations/operation.ts'

/** An option of a command. Without `value` (the word for its value in the help) it is a switch. */
export type Option = Readonly<{
  value?: string | undefined
  help: string
  many?: boolean
  /** Whether an empty value means something. */
  mayBeEmpty?: boolean
  /** Whether its value may be left out: then this text is read, if the next word can't be one. */
  bare?: Readonly<{ text: string; isValue: (word: string) => boolean }> | undefined
  /** The rule for its value, in words. */
  expected?: string | undefined
  /** The value that it has if it is left out, as help shows it. */
  defaultText?: string | undefined
}>

export type Options = Readonly<Record<string, Option>>

/** An argument of a command, which is given by its position. Help shows an optional one in brackets. */
export type Argument = Readonly<{
  name: string
  word: string
  help: string
  isRequired: boolean
}>

/** The options that every command has. */
export const commonOptions: Options = {
  config: { value: 'FILE', help: 'the configuration file (environment: TOLLGATE_CONFIG)' },
  json: { help: 'print one JSON value, for programs' },
  help: { help: 'explain the command' },
}

const by: Option = {
  value: 'NAME',
  help: 'the author, for the audit (environment: TOLLGATE_BY)',
  defaultText: 'the user of this machine',
}

/** All options of a command. */
export function optionsOf(operation: Operation): Options {
  const named = optionParameters(operation)
  const isWork = operation.where !== 'terminal'
  return {
    ...Object.fromEntries(named.map(([option, , parameter]) => [option, optionOf(parameter)])),
    ...Object.fromEntries(
      named.flatMap(([option, , { takeAway }]) =>
        takeAway === undefined ? [] : [[`no-${option}`, { help: takeAway }]],
      ),
    ),
    ...(isWork && operation.csv ? { csv: { help: 'print CSV' } } : {}),
    ...(isWork && operation.question ? { yes: { help: 'do not ask' } } : {}),
    // A running gateway takes the author of a change from the token.
    ...(operation.changes && operation.where !== 'gateway' ? { by } : {}),
    ...commonOptions,
  }
}

/** The arguments of a command, in their order. */
export function argumentsOf({ parameters }: Operation): readonly Argument[] {
  return Object.entries(parameters).flatMap(([name, parameter]): Argument[] => {
    if ('isKey' in parameter) {
      const help = 'the id of a key, or a name that no other key has'
      return [{ name, word: 'KEY', help, isRequired: parameter.isRequired ?? false }]
    }
    if ('types' in parameter) {
      const help = 'the file to read'
      return [{ name, word: 'FILE', help, isRequired: !parameter.isConfig }]
    }
    const { isArgument = false, isRequired = false, value: word = '', help } = parameter
    if (!isArgument) return []
    // A secret that isn't given is asked for.
    const isNeeded = isRequired && !parameter.isSecret
    return [{ name, word, help, isRequired: isNeeded }]
  })
}

/** The arguments of a command as help and messages show them. */
export function argumentWords(operation: Operation): string[] {
  return argumentsOf(operation).map(({ word, isRequired }) => (isRequired ? word : `[${word}]`))
}

/** The parameters that are given by options, each with the name of its option. */
export function optionParameters({
  parameters,
}: {
  parameters: Parameters
}): [option: string, name: string, parameter: Parameter][] {
  return Object.entries(parameters).flatMap(([name, parameter]) =>
    'kind' in parameter && !parameter.isArgument && !parameter.isSecret && !parameter.isOfApi
      ? [[parameter.option ?? kebab(name), name, parameter]]
      : [],
  )
}

/** The parameters that are read from standard input: their names, and their help. */
export function secretsOf(
  parameters: Parameters,
  given: Readonly<Record<string, unknown>>,
): [name: string, help: string][] {
  return Object.entries(parameters).flatMap(([name, parameter]) =>
    'kind' in parameter && parameter.isSecret && given[parameter.unless ?? ''] === undefined
      ? [[name, parameter.help]]
      : [],
  )
}

/** The rule for a parameter's value on the command line, in words. */
export function expectedOf({ kind, nullWord }: Parameter): string {
  if (!nullWord) return kind.expected
  const others = kind.expected.replace(/,? or (?!.* or )/, ', ')
  return `${others}, or ${nullWord.word || '""'} for ${nullWord.meaning}`
}

function optionOf(parameter: Parameter): Option {
  const { kind, value, help, many = false, defaultText, bareText: text } = parameter
  const isPlain = kind === anyText || value === undefined
  return {
    value,
    help,
    many,
    mayBeEmpty: parameter.nullWord?.word === '',
    expected: isPlain ? undefined : expectedOf(parameter),
    defaultText: defaultText,
    bare:
      text === undefined ? undefined : { text, isValue: (word) => kind.read(word) !== undefined },
  }
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
