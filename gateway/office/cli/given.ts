import { readFileSync } from 'node:fs'
import type { Key } from '../../front/keys/key.ts'
import { KeyMistake } from '../../front/keys/mistake.ts'
import { tokenWarning } from '../operations/keys/texts.ts'
import type { Content, Parameter } from '../operations/parameter.ts'
import { requireOneOf, WrongInput, type Operation } from '../operations/operation.ts'
import type { Input } from './arguments.ts'
import { argumentsOf, expectedOf, optionParameters } from './options.ts'

/** The values of an operation's parameters from the words of a command, without its key. */
export function givenFrom(
  operation: Operation,
  input: Input,
  configuration: Content,
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  argumentsOf(operation).forEach(({ name, word }, i) => {
    const parameter = operation.parameters[name]
    const text = input.args[i]
    if (!parameter || 'isKey' in parameter) return
    if ('types' in parameter) {
      values[name] = parameter.isConfig ? configuration : contentOf(text ?? '')
    } else if (text !== undefined) values[name] = read(word, text, parameter)
  })
  for (const [option, name, parameter] of optionParameters(operation)) {
    values[name] = optionValue(option, input, parameter)
  }
  const options = new Map(optionParameters(operation).map(([option, name]) => [name, option]))
  requireOneOf(operation, values, (name) => `--${options.get(name)}`)
  return values
}

/** The text of an option; `undefined` if it wasn't given. */
export function textOf(input: Input, option: string): string | undefined {
  const value = input.values[option]
  return typeof value === 'string' ? value : undefined
}

/** The word that names an operation's key, and the name of its parameter; `undefined` if no key is named. */
export function keyWord(
  operation: Operation,
  { args }: Input,
): Readonly<{ name: string; word: string }> | undefined {
  const names = argumentsOf(operation).map(({ name }) => name)
  const index = names.findIndex((name) => 'isKey' in (operation.parameters[name] ?? {}))
  const [name, word] = [names[index], args[index]]
  return name === undefined || word === undefined ? undefined : { name, word }
}

/** Finds keys for commands, and warns of a token on the command line. */
export function keyFinder(
  find: (reference: string) => Promise<Readonly<{ key: Key; byToken: boolean }>>,
  ask: (question: string) => Promise<string>,
  warn: (sentence: string) => void,
): (word: string) => Promise<Key> {
  return async (word) => {
    const { key, byToken } = await find(word === '-' ? await ask('Id, name or token: ') : word)
    if (byToken && word !== '-') {
      warn(`${tokenWarning(key)}; or write - and give the token when it is asked for`)
    }
    return key
  }
}

function optionValue(option: string, { values }: Input, parameter: Parameter): unknown {
  if (values[`no-${option}`] === true) return null
  const value = values[option]
  const { isRequired = false, defaultText } = parameter
  if (Array.isArray(value)) {
    const all = value.map((each: string) => read(`--${option}`, each, parameter))
    return all.includes(null) ? null : all
  }
  if (typeof value === 'string') return read(`--${option}`, value, parameter)
  if (value !== undefined) return value
  if (isRequired) throw new WrongInput(`--${option} is required`)
  return defaultText === undefined ? undefined : parameter.kind.read(defaultText)
}

function read(what: string, text: string, parameter: Parameter): unknown {
  if (text === parameter.nullWord?.word) return null
  const value = parameter.kind.read(text)
  if (value !== undefined) return value
  throw new WrongInput(`${what} must be ${expectedOf(parameter)}, got "${text}"`)
}

function contentOf(file: string): Content {
  return {
    name: file,
    read: () => {
      try {
        return readFileSync(file, 'utf8')
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        throw new KeyMistake(`the file can't be read: ${reason}`)
      }
    },
  }
}
