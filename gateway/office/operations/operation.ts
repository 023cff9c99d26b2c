import type { Loaded } from '../config/load.ts'
import type { Environment } from '../config/variables.ts'
import type { CommandContext, Context, Endpoint, GatewayContext } from './context.ts'
import type { Content, Given, Parameters } from './parameter.ts'
import type { Role } from '../../../shared/role.ts'
import type { Written } from './written.ts'
import { WrongInput } from '../wrong-input.ts'

export { WrongInput }

/** The description of an operation, from which help, options, queries, bodies and their checks are made. */
type Description<All extends Parameters> = Readonly<{
  /** The words of its command, such as `keys create`. */
  name: string
  /** One line for lists of commands. */
  summary: string
  /** Further paragraphs for `--help`. */
  details?: string
  parameters: All
  /** The parameters of which at least one is needed. */
  needsOneOf?: readonly (keyof All & string)[]
  /** Whether it changes something: its command then takes `--by`, the author for the audit. */
  changes?: boolean
  /** The least role that may do it. */
  role: Role
  /** Whether a gateway runs it for one operator at a time. */
  isAlone?: boolean
}>

/** The forms in which the result of an operation is shown. */
type Formats<Result, Json, Where> = Readonly<{
  /** The result for programs; by default the result itself. A list of any length is a `Listed`. */
  json?(result: Result, context: Where): Json
  /** The result for people. */
  text(result: Result, context: CommandContext): string | Promise<string>
  /** The result for spreadsheets; of any length, in pieces. */
  csv?(result: Result): string | AsyncGenerator<string, void>
  /** The result of any length as a text that people and programs take as it is, where there is one. */
  pieces?(result: Result): AsyncIterable<string> | undefined
  /** The result as a file, with which the admin API answers unless it is asked for JSON; with the tag of this version of it. */
  file?(result: Result): Readonly<{ type: string; text: string; tag: string }>
  /** Whether the result is a failure: the command then exits with 1. */
  isRefused?(result: Result): boolean
  /** Sentences that people should know besides: the command prints it on standard error when all of the result is shown. */
  warnings?(result: Result): readonly string[]
  /** The path of the thing that it made: the admin API answers with 201 and `Location`. */
  location?(result: Result): string
}>

/** The ways in which an operation may be done otherwise than most. */
type Manner<Values> = Readonly<{
  /** Whether the admin API answers with 204, without a body. */
  isSilent?: boolean
  /** The question before what can't be undone, or changes much: a script agrees to it by `--yes`. */
  question?(values: Values, context: Context): Promise<string | undefined>
  /** Its command doesn't load the configuration as others do: options say how, or it tells mistakes as its result. */
  load?(configuration: Content, environment: Environment, values: Values): Promise<Loaded | Said>
  /**
   * Whether it takes so long with these values that it would hold requests up: with 100,000 keys more than 50 ms. A
   * gateway then runs it in its thread, which knows no refusals of gateways, and answers with JSON or CSV only.
   */
  takesLong?(values: Values): boolean
}>

/** The output of a command that works with no configuration. Without a text, the error is its message. */
export type Said = Readonly<{
  json: unknown
  text: string | undefined
  error?: Error
  /** Whether it is a failure: the command then exits with 1. */
  isRefused?: boolean
}>

/** A subscription to the result of an operation: `take` gives what is new since its last call, `end` ends it. */
export type Watcher = Readonly<{
  take: () => Readonly<{ name: string; snapshot: unknown }> | undefined
  end: () => void
}>

/** Watches a result, for clients that accept server-sent events; `heard` is called when there is something to take. */
type Watched<Values> = Readonly<{
  watch?(context: GatewayContext, values: Values, heard: () => void): Watcher
}>

/** The knowledge of a command that needs neither a configuration nor a store. */
export type Terminal = Readonly<{
  /** The key of TOLLGATE_PROVE_KEY. */
  proveKey: string | undefined
  /** Says what will be done, and throws unless the user agrees, or has agreed before. */
  agree: (plan: string, isAgreed: boolean) => Promise<void>
}>

type Saying<Values> = Readonly<{ say(values: Values, terminal: Terminal): Promise<Said> }>

/** `because`: the reason why the admin API doesn't have it. */
type OfCommandLine = Readonly<{ because: string }>
type AtEndpoints = Readonly<{ at: readonly Endpoint[] }>

type Definition<
  All extends Parameters,
  Result,
  Json,
  Where,
  Values = Given<All>,
> = Description<All> &
  Formats<NoInfer<Result>, Json, Where> &
  Manner<Values> &
  Readonly<{ run(context: Where, values: Values): Promise<Result> }>

type AnyValues = Readonly<Record<string, unknown>>

/**
 * An operation as the command line and the admin API use it, which read its values by their kinds, and hand its result back to
 * it: without the types of both, so that all operations fit into one table. TypeScript takes a definition for one, because its
 * functions are written as methods.
 */
type Untyped<Where> = Definition<Parameters, unknown, unknown, Where, AnyValues>

/** Something that operators can do with stores, configurations or gateways. */
export type WorkingOperation =
  | (Untyped<Context> & AtEndpoints & Readonly<{ where: 'anywhere' }>)
  | (Untyped<GatewayContext> & Watched<AnyValues> & AtEndpoints & Readonly<{ where: 'gateway' }>)
  | (Untyped<CommandContext> & OfCommandLine & Readonly<{ where: 'command line' }>)

/** Something that operators can do. */
export type Operation =
  | WorkingOperation
  | (Description<Parameters> & Saying<AnyValues> & OfCommandLine & Readonly<{ where: 'terminal' }>)

/** An operation and the type of its answer for programs, which is in no value: pages read it by `AnswerOf`. */
export type Answering<Json> = Operation & Readonly<{ answer?: Json }>

export type AnswerOf<Each extends Answering<unknown>> = NonNullable<Each['answer']>

/** An operation on the stores. The command line runs it in its own process, the admin API in the gateway. */
export function operation<const All extends Parameters, Result, Json = Result>(
  definition: Definition<All, Result, Json, Context> & AtEndpoints,
): Answering<Json> {
  return { ...definition, where: 'anywhere' }
}

/** An operation that needs a running gateway. The command line asks the gateway at its admin address; its texts are made of the JSON of the answer. */
export function ofGateway<const All extends Parameters, Result>(
  definition: Omit<Definition<All, Result, Result, GatewayContext>, 'json' | 'run'> &
    Watched<Given<All>> &
    AtEndpoints &
    Readonly<{
      run(context: GatewayContext, values: Given<All>): Promise<Result | Written<Result>>
    }>,
): Answering<Result> {
  return { ...definition, where: 'gateway' }
}

/** An operation of the command line only. */
export function ofCommandLine<const All extends Parameters, Result>(
  definition: Definition<All, Result, unknown, CommandContext> & OfCommandLine,
): Operation {
  return { ...definition, where: 'command line' }
}

/** An operation of the command line that needs neither a configuration nor a store. */
export function ofTerminal<const All extends Parameters>(
  definition: Description<All> & Saying<Given<All>> & OfCommandLine,
): Operation {
  return { ...definition, where: 'terminal' }
}

/** The result of an operation for programs. */
export function forPrograms<Result, Where>(
  { json }: Pick<Formats<Result, unknown, Where>, 'json'>,
  result: Result,
  context: Where,
): unknown {
  return json ? json(result, context) : result
}

/** Throws unless one of the parameters is given of which one is needed; `nameOf` says what the user calls them. */
export function requireOneOf(
  { needsOneOf }: Pick<Operation, 'needsOneOf'>,
  values: AnyValues,
  nameOf: (name: string) => string,
): void {
  if (!needsOneOf || needsOneOf.some((name) => values[name] !== undefined)) return
  throw new WrongInput(`give at least one of ${needsOneOf.map(nameOf).join(', ')}`)
}
