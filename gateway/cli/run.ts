import { printable } from '../../shared/printable.ts'
import { progressBar, type Screen } from '../../shared/progress.ts'
import { UnfitSqlite } from '../../shared/sqlite-pair.ts'
import { ConfigError } from '../config/config-error.ts'
import { configFile } from '../config/file-text.ts'
import { loadedFrom, readConfig, type Loaded } from '../config/load.ts'
import { isLine } from '../keys/settings.ts'
import { KeyMistake } from '../keys/mistake.ts'
import { operations } from '../operations/all.ts'
import { desksFor } from '../operations/desks.ts'
import { Listed } from '../operations/listed.ts'
import type { CommandContext } from '../operations/context.ts'
import { WrongInput, type Operation, type Progress } from '../operations/operation.ts'
import { openerOf } from '../stores/opener.ts'
import type { Stores } from '../stores/stores.ts'
import { inputOf, type Input } from './arguments.ts'
import { givenFrom, keyFinder, keyWord, textOf } from './given.ts'
import { explain, explainAll } from './help.ts'
import { argumentsOf, secretsOf } from './options.ts'
import { requestFor } from './request.ts'
import { refusalsFor } from './refusals-for.ts'
import { jsonText, remark, sentenceOf } from './output.ts'

/** The process that commands run in, and its terminal if there is one. */
export type Surroundings = Readonly<{
  environment: Readonly<Record<string, string | undefined>>
  stdout: Screen
  stderr: Screen
  /** The user of the process: the author of changes without `--by`. */
  userName: () => string
  /** Reads a line from standard input; on a terminal it prints the question. */
  ask: (question: string) => Promise<string>
  /** The same for a secret: a terminal doesn't show it. */
  askSecret: (question: string) => Promise<string>
  /** Reads standard input to its end. */
  readInput: () => Promise<string>
  /** Whether the user at the terminal agrees; `undefined` without a terminal. */
  confirm: (question: string) => Promise<boolean | undefined>
  /** Aborts at Ctrl-C, which then ends nothing else. */
  interrupted: () => AbortSignal
}>

/** The name in messages of a configuration that comes from standard input. */
const standardInput = 'standard input'

/** Runs one command and prints its answer or its mistakes; returns the exit code. */
export async function run(words: string[], surroundings: Surroundings): Promise<number> {
  const { stdout, stderr } = surroundings
  const warn = (sentence: string): void => void stderr.write(remark(sentence))
  try {
    const command = operations.find(({ name }) => `${words.join(' ')} `.startsWith(`${name} `))
    if (command) return await runCommand(command, words, { ...surroundings, warn })
    const { text, isAsked } = explainAll(words)
    if (isAsked) stdout.write(text)
    else warn(text)
    return isAsked ? 0 : 2
  } catch (error) {
    // Editors and other programs expect `file:line:column` at the beginning of a line.
    const isPlaced = error instanceof ConfigError && error.mistakes.length > 0
    stderr.write(remark(sentenceOf(error), isPlaced ? '' : 'tollgate: '))
    const mustChange = [WrongInput, ConfigError, UnfitSqlite]
    return mustChange.some((kind) => error instanceof kind) ? 2 : 1
  }
}

type Warn = Readonly<{ warn: (sentence: string) => void }>

async function runCommand(
  operation: Operation,
  words: string[],
  surroundings: Surroundings & Warn,
): Promise<number> {
  const { environment, stdout } = surroundings
  const input = inputOf(operation, words.slice(operation.name.split(' ').length))
  if (input.values['help']) {
    stdout.write(explain(operation))
    return 0
  }
  const { loaded, name } = await configurationFor(operation, input, surroundings)
  const { config } = loaded
  const open = await openerOf(config.store)
  let opened: Stores | undefined
  const stores = (): Stores => (opened ??= open({ forCommandLine: true }))
  const by = authorFrom(input, surroundings)
  const context: CommandContext = {
    config,
    preview: loaded,
    configFile: name,
    stores,
    desks: () => desksFor({ ...config, stores: stores(), clock: Date.now, by }),
    secret: environment['GATEWAY_SECRET'],
    askGateway: async (endpoint, otherwise, sent) => {
      const { askGateway } = await import('./running-gateway.ts')
      const to = { address: config.admin, adminToken: environment['ADMIN_TOKEN'] }
      return askGateway(to, endpoint, { otherwise, sent })
    },
    followGateway: async (endpoint, sent, heard) => {
      const { followGateway } = await import('./running-gateway.ts')
      const to = { address: config.admin, adminToken: environment['ADMIN_TOKEN'] }
      return followGateway(to, endpoint, { sent, heard, signal: surroundings.interrupted() })
    },
    hasVariable: (variable) => Boolean(environment[variable]),
    by,
    clock: Date.now,
    examine: (file) => {
      const text = file.read()
      const preview = text === loaded.text ? loaded : loadedFrom(text, environment, file.name)
      return { preview, mistakes: [] }
    },
    inForce: undefined,
    refusalsOf: (id) => refusalsFor(context, id),
    flush: () => Promise.resolve(),
    progress: (label, total) => progressBar(surroundings.stderr, label, total),
  }
  try {
    const given = givenFrom(operation, input, { name, read: () => loaded.text })
    return await carryOut(operation, { given, input, context, surroundings })
  } finally {
    await opened?.close()
  }
}

type Call = Readonly<{
  given: Record<string, unknown>
  input: Input
  context: CommandContext
  surroundings: Surroundings & Warn
}>

/** Runs the operation and prints its outcome; returns the exit code. */
async function carryOut(
  operation: Operation,
  { given, input, context, surroundings }: Call,
): Promise<number> {
  const { stdout, warn, ask, askSecret, confirm } = surroundings
  const say = (output: string): void => void stdout.write(`${output}\n`)
  const sayAll = async (pieces: AsyncIterable<string>): Promise<void> => {
    for await (const piece of pieces) stdout.write(piece)
    say('')
  }
  if (operation.where === 'gateway') {
    const [endpoint] = operation.at
    if (!endpoint) return 1
    const { target, sent } = requestFor(operation, endpoint, given)
    const { progressOf } = operation
    const answer = progressOf
      ? await context.followGateway(target, sent, following(progressOf, surroundings.stderr))
      : await context.askGateway(target, undefined, sent)
    if (progressOf && surroundings.stderr.isTTY) surroundings.stderr.write('\n')
    say(input.values['json'] ? jsonText(answer) : await operation.textOf(answer, context))
    return operation.isRefusedIn(answer) ? 1 : 0
  }
  const key = keyWord(operation, input)
  if (key) {
    const find = keyFinder((word) => context.desks().keys.find(word), ask, warn)
    given[key.name] = await find(key.word)
  }
  for (const [name, help] of secretsOf(operation.parameters)) {
    given[name] = await askSecret(`${help}: `)
  }
  if (input.values['yes'] !== true) {
    const question = await operation.question?.(given, context)
    const answer = question && (await confirm(printable(question.text)))
    if (answer === false) throw new KeyMistake('nothing was changed')
    if (question?.isForScripts && answer === undefined) {
      throw new KeyMistake(`${question.text} Say so by --yes; nothing was changed`)
    }
  }
  const { json, text, csv, isRefused } = await operation.run(context, given)
  if (input.values['json']) {
    const value = json()
    if (value instanceof Listed && value.isInOrder) await sayAll(value.json(jsonText))
    else say(jsonText(value instanceof Listed ? await value.wholeJson() : value))
    return isRefused ? 1 : 0
  }
  const all = input.values['csv'] && csv ? csv() : await text(context)
  if (typeof all === 'string') say(all)
  else await sayAll(all)
  return isRefused ? 1 : 0
}

/** Shows how far an operation of the running gateway has come. */
function following(
  progressOf: (json: unknown) => Progress,
  screen: Screen,
): (json: unknown) => void {
  let show: ((done: number) => void) | undefined
  return (json) => {
    const { label, done, total } = progressOf(json)
    show ??= progressBar(screen, label, total)
    show(done)
  }
}

/** The configuration of a command: the file that it is to look at if one is named, else that of `--config`. */
async function configurationFor(
  operation: Operation,
  input: Input,
  { environment, readInput }: Surroundings,
): Promise<{ loaded: Loaded; name: string }> {
  const position = argumentsOf(operation).findIndex(({ name }) => {
    const parameter = operation.parameters[name]
    return parameter && 'types' in parameter && parameter.isConfig
  })
  const named = position < 0 ? undefined : input.args[position]
  if (named === '-') {
    return {
      loaded: loadedFrom(await readInput(), environment, standardInput),
      name: standardInput,
    }
  }
  const file = named ?? textOf(input, 'config') ?? configFile(environment)
  const isOfConfig = position >= 0 || operation.name.startsWith('config ')
  return { loaded: readConfig(file, environment, isOfConfig), name: file }
}

/** The author of changes, for the audit. */
function authorFrom(input: Input, { environment, userName }: Surroundings): string {
  const given = textOf(input, 'by')
  const by = given ?? (environment['TOLLGATE_BY'] || userName())
  if (isLine(by)) return by
  const which = given === undefined ? 'TOLLGATE_BY' : '--by'
  throw new WrongInput(`${which} must be a line of 1 to 255 characters, none of them invisible`)
}
