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
  json?: (result: Result, context: Where) => Json
  /** The result for people. */
  text: (result: Result, context: CommandContext) => string | Promise<string>
  /** The result for spreadsheets; of any length, in pieces. */
  csv?: (result: Result) => string | AsyncGenerator<string, void>
  /** The result of any length as a text that people and programs take as it is, where there is one. */
  pieces?: (result: Result) => AsyncIterable<string> | undefined
  /** The result as a file, with which the admin API answers unless it is asked for JSON. */
  file?: (result: Result) => FileAnswer
  /** Whether the result is a failure: the command then exits with 1. */
  isRefused?: (result: Result) => boolean
  /** Sentences that people should know besides: the command prints it on standard error. */
  warnings?: (result: Result) => readonly string[]
  /** The path of the thing that it made: the admin API answers with 201 and `Location`. */
  location?: (result: Result) => string
}>

/** A file as an answer: its media type, its text, and the tag of this version of it. */
export type FileAnswer = Readonly<{ type: string; text: string; tag: string }>

/** The outcome of an operation, in every form that the command line or the admin API may show. */
export type Outcome = Readonly<{
  json: () => unknown
  text: (context: CommandContext) => string | Promise<string>
  csv: (() => string | AsyncGenerator<string, void>) | undefined
  pieces: AsyncIterable<string> | undefined
  file: FileAnswer | undefined
  isRefused: boolean
  warnings: readonly string[]
  /** The path of a thing that was made. */
  location: string | undefined
}>

/** An operation as the command line and the admin API use it: without the types of its parameters and its result. */
type Untyped<Where> = Description<Parameters> &
  Manner<AnyValues> &
  Readonly<{
    hasCsv: boolean
    /** `values` holds a value for each parameter, read by the parameter's kind. */
    run: (context: Where, values: AnyValues) => Promise<Outcome>
  }>

type AnyValues = Readonly<Record<string, unknown>>

/** The ways in which an operation may be done otherwise than most. */
type Manner<GivenValues> = Readonly<{
  /** Whether the admin API answers with 204, without a body. */
  isSilent?: boolean
  /** The question before what can't be undone, or changes much: a script agrees to it by `--yes`. */
  question?: (values: GivenValues, context: Context) => Promise<string | undefined>
  /** Its command doesn't load the configuration as others do: options say how, or it tells mistakes as its result. */
  load?: Load<GivenValues>
  /**
   * Whether it takes so long with these values that it would hold requests up: with 100,000 keys more than 50 ms. A
   * gateway then runs it in its thread, which knows no refusals of gateways, and answers with JSON or CSV only.
   */
  takesLong?: (values: GivenValues) => boolean
}>

/** The output of a command that works with no configuration. Without a text, the error is its message. */
export type Said = Readonly<{
  json: unknown
  text: string | undefined
  error?: Error
  /** Whether it is a failure: the command then exits with 1. */
  isRefused?: boolean
}>

/** Loads the configuration of a command in its own way. */
type Load<GivenValues> = (
  configuration: Content,
  environment: Environment,
  values: Readonly<GivenValues>,
) => Promise<Loaded | Said>

/** News about the result of an operation. */
export type WatchedEvent = Readonly<{
  name: string
  snapshot: unknown
  /** Whether there will be no other. */
  isLast?: boolean
}>

/** A subscription: `take` gives what is new since its last call, `end` ends it. */
export type Watcher = Readonly<{ take: () => WatchedEvent | undefined; end: () => void }>

/** Watches the result of an operation; `heard` is called when there is something to take. */
type Watch<GivenValues> = (
  context: GatewayContext,
  values: Readonly<GivenValues>,
  heard: () => void,
) => Watcher | Promise<Watcher>

/** How far something long has come. */
export type Progress = Readonly<{ label: string; done: number; total: number }>

type Anywhere = Untyped<Context> & Readonly<{ where: 'anywhere'; at: readonly Endpoint[] }>
type OfGateway = Untyped<GatewayContext> &
  Readonly<{
    where: 'gateway'
    at: readonly Endpoint[]
    /** Watches its result: the admin API sends it as server-sent events to clients that accept these. */
    watch: Watch<Record<string, unknown>> | undefined
    /** The text for people of the JSON that a running gateway answered. */
    textOf: (json: unknown, context: CommandContext) => string | Promise<string>
    /** Whether that JSON tells of a failure: the command then exits with 1. */
    isRefusedIn: (json: unknown) => boolean
    /** How far an operation has come that takes long: its command follows its events to the last one. */
    progressOf: ((json: unknown) => Progress) | undefined
  }>
type OfCommandLine = Untyped<CommandContext> &
  Readonly<{
    where: 'command line'
    /** The reason why the admin API doesn't have it. */
    because: string
  }>

/** The knowledge of a command that needs neither a configuration nor a store. */
export type Terminal = Readonly<{
  /** The key of TOLLGATE_PROVE_KEY. */
  proveKey: string | undefined
  /** Says what will be done, and throws unless the user agrees, or has agreed before. */
  agree: (plan: string, isAgreed: boolean) => Promise<void>
}>

type Saying<GivenValues> = Readonly<{
  because: string
  say: (values: GivenValues, terminal: Terminal) => Promise<Said>
}>
type OfTerminal = Description<Parameters> & Saying<AnyValues> & Readonly<{ where: 'terminal' }>

/** Something that operators can do with stores, configurations or gateways. */
export type WorkingOperation = Anywhere | OfGateway | OfCommandLine

/** Something that operators can do. */
export type Operation = WorkingOperation | OfTerminal

/** An operation and the type of its answer for programs, which is in no value: pages read it by `AnswerOf`. */
export type Answering<Json> = Operation & Readonly<{ answer?: Json }>

export type AnswerOf<Each extends Answering<unknown>> = NonNullable<Each['answer']>

type Definition<All extends Parameters, Result, Json, Where> = Description<All> &
  Formats<Result, Json, Where> &
  Readonly<{ run: (context: Where, values: Given<All>) => Promise<Result> }>

type AtEndpoints = Readonly<{ at: readonly Endpoint[] }>

/** An operation on the stores. The command line runs it in its own process, the admin API in the gateway. */
export function operation<const All extends Parameters, Result, Json = Result>(
  definition: Definition<All, Result, Json, Context> & AtEndpoints & Manner<Given<All>>,
): Answering<Json> {
  return { ...untyped(definition), where: 'anywhere', at: definition.at }
}

/** An operation that needs a running gateway. The command line asks the gateway at its admin address. */
export function ofGateway<const All extends Parameters, Result>(
  definition: Omit<Definition<All, Result, Result, GatewayContext>, 'json' | 'run'> &
    AtEndpoints &
    Readonly<{
      run: (context: GatewayContext, values: Given<All>) => Promise<Result | Written<Result>>
      watch?: Watch<Given<All>>
      progress?: (result: Result) => Progress
    }>,
): Answering<Result> {
  const { watch, progress, isRefused } = definition
  const textOf = (json: unknown, context: CommandContext): string | Promise<string> =>
    definition.text(json as Result, context)
  return {
    // Its texts are made of the JSON that it answered.
    ...untyped(definition as Definition<All, Result, Result, GatewayContext>),
    where: 'gateway',
    at: definition.at,
    watch: watch && ((context, values, heard) => watch(context, values as Given<All>, heard)),
    textOf,
    isRefusedIn: (json) => isRefused?.(json as Result) ?? false,
    progressOf: progress && ((json) => progress(json as Result)),
  }
}

/** An operation of the command line only. */
export function ofCommandLine<const All extends Parameters, Result>(
  definition: Definition<All, Result, unknown, CommandContext> &
    Pick<Manner<Given<All>>, 'question'> &
    Readonly<{ because: string }>,
): Operation {
  return { ...untyped(definition), where: 'command line', because: definition.because }
}

/** An operation of the command line that needs neither a configuration nor a store. */
export function ofTerminal<const All extends Parameters>({
  say,
  ...description
}: Description<All> & Saying<Given<All>>): Operation {
  // The command line has read each value by its kind.
  return { ...description, where: 'terminal', say: (values, at) => say(values as Given<All>, at) }
}

/** Takes the types away, so that operations of all kinds fit into one table. */
function untyped<All extends Parameters, Result, Where>(
  definition: Definition<All, Result, unknown, Where> & Manner<Given<All>>,
): Untyped<Where> {
  const { run, json, text, csv, pieces, file, isRefused, ...more } = definition
  const { warnings, location, ...others } = more
  const { question, load, takesLong, ...description } = others
  return {
    ...description,
    hasCsv: csv !== undefined,
    ...(question && { question: (values, at) => question(values as Given<All>, at) }),
    ...(load && { load: (file, at, values) => load(file, at, values as Given<All>) }),
    ...(takesLong && { takesLong: (values) => takesLong(values as Given<All>) }),
    run: async (context, values) => {
      // The command line and the admin API have read each value by its kind.
      const result = await run(context, values as Given<All>)
      return {
        json: () => (json ? json(result, context) : result),
        text: (terminal) => text(result, terminal),
        csv: csv && (() => csv(result)),
        pieces: pieces?.(result),
        file: file?.(result),
        isRefused: isRefused?.(result) ?? false,
        // Asked for when all of it is shown.
        get warnings() {
          return warnings?.(result) ?? []
        },
        location: location?.(result),
      }
    },
  }
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
