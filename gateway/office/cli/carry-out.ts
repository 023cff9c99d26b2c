import { printable } from '../../../shared/printable.ts'
import { KeyMistake } from '../../front/keys/mistake.ts'
import { RowMistakes } from '../../front/keys/row-mistakes.ts'
import type { CommandContext, Endpoint, Sent } from '../operations/context.ts'
import { Listed } from '../operations/listed.ts'
import { forPrograms, WrongInput, type WorkingOperation } from '../operations/operation.ts'
import type { Content } from '../operations/parameter.ts'
import type { Input } from './arguments.ts'
import { keyFinder, keyWord } from './given.ts'
import { secretsOf } from './options.ts'
import { jsonText } from './output.ts'
import type { Surroundings, Warn } from './surroundings.ts'

type Call = Readonly<{
  values: Record<string, unknown>
  input: Input
  context: CommandContext
  surroundings: Surroundings & Warn
}>

/** Does what the command says and prints its outcome; returns the exit code. */
export async function carryOut(operation: WorkingOperation, call: Call): Promise<number> {
  if (operation.where === 'gateway') return askFor(operation, call)
  await completeGiven(operation, call)
  if (call.input.values['yes'] !== true) await mustBeWanted(operation, call)
  const result = await operation.run(call.context, call.values).catch((error: unknown) => {
    printMistakes(error, call)
    throw error
  })
  await print(operation, result, call)
  operation.warnings?.(result).forEach(call.surroundings.warn)
  return operation.isRefused?.(result) ? 1 : 0
}

type Here = Exclude<WorkingOperation, { where: 'gateway' }>
type There = Extract<WorkingOperation, { where: 'gateway' }>

/** Has the running gateway do it. */
async function askFor(
  operation: There,
  { values, input, context, surroundings }: Call,
): Promise<number> {
  const [endpoint] = operation.at
  if (!endpoint) return 1
  const { target, sent } = requestFor(operation, endpoint, values)
  const answer = await context.askGateway(target, undefined, sent)
  const text = input.values['json'] ? jsonText(answer) : await operation.text(answer, context)
  surroundings.stdout.write(`${text}\n`)
  return operation.isRefused?.(answer) ? 1 : 0
}

/** The values that a command was given as a request: in its query, its headers or its body. */
function requestFor(
  { parameters }: There,
  endpoint: Endpoint,
  values: Call['values'],
): { target: Endpoint; sent: Sent } {
  const headers: Record<string, string> = { accept: 'application/json' }
  const named: Record<string, unknown> = {}
  let body: string | undefined
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = values[name]
    if (value === undefined) continue
    if ('types' in parameter) {
      body = (value as Content).read()
      headers['content-type'] = parameter.types[0] ?? ''
    } else if ('header' in parameter && typeof value === 'string') {
      headers[parameter.header ?? ''] = `"${value}"`
    } else named[name] = value
  }
  if (body !== undefined) return { target: endpoint, sent: { body, headers } }
  if (Object.keys(named).length === 0) return { target: endpoint, sent: { headers } }
  if (/^(?:GET|DELETE) /.test(endpoint)) {
    return { target: withQuery(endpoint, named), sent: { headers } }
  }
  headers['content-type'] = 'application/json'
  return { target: endpoint, sent: { body: JSON.stringify(named), headers } }
}

function withQuery(endpoint: Endpoint, named: Call['values']): Endpoint {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(named)) {
    query.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  return `${endpoint}?${query.toString()}`
}

/** Finds the key that is meant, and asks for secrets, which no command line should hold. */
async function completeGiven(
  operation: Here,
  { values, input, context, surroundings }: Call,
): Promise<void> {
  const { ask, askSecret, warn } = surroundings
  const key = keyWord(operation, input)
  if (key) {
    const find = keyFinder((word) => context.desks().keys.find(word), ask, warn)
    values[key.name] = await find(key.word)
  }
  for (const [name, help] of secretsOf(operation.parameters, values)) {
    const isGiven = values[name] !== undefined && values[name] !== '-'
    if (!isGiven) values[name] = await askSecret(`${help}: `)
  }
}

/** Asks whether what can't be undone is to be done; throws if it isn't. */
async function mustBeWanted(
  operation: Here,
  { values, context, surroundings }: Call,
): Promise<void> {
  const question = await operation.question?.(values, context)
  if (!question) return
  const answer = await surroundings.confirm(printable(question))
  if (answer === false) throw new KeyMistake('nothing was changed')
  if (answer === undefined) {
    throw new WrongInput(`${question} Confirm with --yes; nothing was changed`)
  }
}

/** Prints the mistakes of a file of keys for programs; people are told of them as of any error. */
function printMistakes(error: unknown, { input, surroundings: { stdout } }: Call): void {
  if (!(error instanceof RowMistakes) || !input.values['json']) return
  const { mistakes, more, keys } = error
  stdout.write(`${jsonText({ mistakes, more: more || undefined, keys })}\n`)
}

/** Prints a result in the form that was asked for. Long ones are printed piece by piece. */
async function print(operation: Here, result: unknown, call: Call): Promise<void> {
  const { stdout } = call.surroundings
  const output = await shown(operation, result, call)
  if (typeof output === 'string') return void stdout.write(`${output}\n`)
  for await (const piece of output) {
    if (stdout.isLeft?.()) return
    stdout.write(piece)
  }
  stdout.write('\n')
}

async function shown(
  operation: Here,
  result: unknown,
  { input: { values }, context }: Call,
): Promise<string | AsyncIterable<string>> {
  const pieces = operation.pieces?.(result)
  if (pieces) return pieces
  if (!values['json']) {
    return values['csv'] && operation.csv ? operation.csv(result) : operation.text(result, context)
  }
  const value = forPrograms(operation, result, context)
  if (!(value instanceof Listed)) return jsonText(value)
  return value.isInOrder ? value.json(jsonText) : jsonText(await value.wholeJson())
}
