import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../../../shared/clock.ts'
import type { Reloader } from '../config/reload.ts'
import { KeyMistake } from '../../front/keys/mistake.ts'
import { operations } from '../operations/all.ts'
import type { Endpoint, GatewayContext } from '../operations/context.ts'
import { gatewayContext } from '../operations/gateway-context.ts'
import { plainParameters } from '../operations/members.ts'
import type { ContentParameter, Parameters } from '../operations/parameter.ts'
import { requireOneOf } from '../operations/operation.ts'
import type { OperatedGateway } from '../office.ts'
import type { Environment } from '../config/variables.ts'
import type { OfficeThread } from '../thread/office-thread.ts'
import { contentOf, requireNothing, takeTexts } from './body.ts'
import type { EventStreams } from './events.ts'
import { answer, formOf, types, type Served } from './operation-answer.ts'
import type { AdminSecrets, Operator } from './token.ts'
import { fromBody, fromHeaders, fromPath, fromQuery, parametersAt, withoutPath } from './given.ts'
import { operatorOf, roleScreen } from './require-token.ts'

export type OperationsOptions = Readonly<{
  gateway: OperatedGateway
  reloader: Reloader
  secrets: AdminSecrets
  clock: Clock
  streams: EventStreams
  /** The values that a configuration’s `${NAME}` may have. */
  environment: Environment
  /** Runs operations that take long; without it, they run here. */
  thread: OfficeThread | undefined
}>

/** The longest body in JSON, which is parsed at once: a megabyte takes the loop for 10 ms and more. */
const mostJsonBytes = 2 ** 18

/** The longest text, unless its parameter says otherwise. */
const mostContentBytes = 2 ** 20

type ReadGiven = (request: FastifyRequest) => Record<string, unknown>

/** Adds every operation that the admin API has, at its methods and paths. */
export function addOperations(app: FastifyInstance, options: OperationsOptions): void {
  for (const operation of operations) {
    if (!('at' in operation)) continue
    const content = contentParameterOf(operation)
    for (const endpoint of operation.at) {
      if (!content) addRoute(app, operation, endpoint, options)
      else {
        void app.register((inner, _options, done) => {
          takeTexts(inner, content[1].types)
          addRoute(inner, operation, endpoint, options)
          done()
        })
      }
    }
  }
}

function addRoute(
  app: FastifyInstance,
  operation: Served,
  endpoint: Endpoint,
  options: OperationsOptions,
): void {
  const [method = '', path = ''] = endpoint.split(' ')
  const hasQuery = ['GET', 'DELETE'].includes(method)
  const parameters = withoutPath(parametersAt(endpoint, operation.parameters), path)
  const readGiven = hasQuery ? queryOf(parameters) : bodyOf(parameters)
  const content = contentParameterOf(operation)?.[1]
  const isQueried = hasQuery || content !== undefined
  const names = isQueried ? plainParameters(parameters).map(([name]) => name) : []
  const readPath = fromPath(operation.parameters, path)
  const readHeaders = fromHeaders(operation.parameters)
  const inTurn = operation.isAlone ? alone(operation) : atOnce
  app.route<{ Params: { id?: string } }>({
    method,
    url: path.replace(/\{(\w+)\}/g, ':$1'),
    config: { parameters: names },
    onRequest: roleScreen(operation.role),
    bodyLimit: content ? (content.mostBytes ?? mostContentBytes) : mostJsonBytes,
    handler: async (request, reply) => {
      const inputs = readGiven(request)
      const leaving = new AbortController()
      reply.raw.once('close', () => leaving.abort())
      const operator = operatorOf(request)
      const context = contextOf(options, operator)
      const name = keyNameOf(operation)
      const { id } = request.params
      if (name !== undefined && id !== undefined) {
        inputs[name] = (await context.desks().keys.find(id)).key
      }
      Object.assign(inputs, readPath(request.params), readHeaders(request.headers))
      requireOneOf(operation, inputs, (name) => name)
      const watch = operation.where === 'gateway' ? operation.watch : undefined
      if (watch && options.streams.isWanted(request)) {
        return options.streams.answer(request, reply, (heard) => watch(context, inputs, heard))
      }
      const thread = threadFor(operation, inputs, options)
      if (thread) {
        const form = formOf(request, operation)
        const { secret } = options.secrets
        const asked = { given: inputs, form, operator, secret }
        const question = { operation, ...asked, nowMs: options.clock() }
        const answer = await inTurn(() => thread.ask(question, leaving.signal))
        return reply.type(types[form]).send(answer)
      }
      const result = await inTurn(() => operation.run(context, inputs))
      if (watch) void reply.header('cache-control', 'no-store')
      return answer(request, reply, operation, context, result)
    },
  })
}

type InTurn = <Result>(run: () => Promise<Result>) => Promise<Result>

const atOnce: InTurn = (run) => run()

/** Runs an operation for one operator at a time; another one is told to come back. */
function alone({ name }: Served): InTurn {
  let isRunning = false
  return async (run) => {
    if (isRunning) {
      throw new KeyMistake(`${name} is running already; try again when it is over`, 'conflict')
    }
    isRunning = true
    try {
      return await run()
    } finally {
      isRunning = false
    }
  }
}

/** The thread that runs an operation; `undefined` if it is run here. */
function threadFor(
  operation: Served,
  given: Readonly<Record<string, unknown>>,
  { thread }: OperationsOptions,
): OfficeThread | undefined {
  return operation.where === 'anywhere' && operation.takesLong?.(given) ? thread : undefined
}

function queryOf(parameters: Parameters): ReadGiven {
  const read = fromQuery(parameters)
  return ({ query, method, body }) => {
    if (method === 'DELETE') requireNothing(body)
    return read(query)
  }
}

function bodyOf(parameters: Parameters): ReadGiven {
  const content = contentParameterOf({ parameters })
  if (content) {
    const read = fromQuery(parameters)
    return ({ body, query }) => ({
      ...read(query),
      [content[0]]: contentOf(body),
    })
  }
  if (plainParameters(parameters).length > 0) {
    const read = fromBody(parameters)
    return ({ body }) => read(body)
  }
  return ({ body }) => {
    requireNothing(body)
    return {}
  }
}

/** The context of an operation that the holder of a token asks for. */
function contextOf(
  { gateway, reloader, secrets, ...others }: OperationsOptions,
  operator: Operator,
): GatewayContext {
  const by = operator.name
  return {
    ...gatewayContext({ ...others, gateway, secret: secrets.secret, by }),
    gateway,
    reloader,
    by,
    operator,
    inForce: async () => {
      const { config: shown } = await reloader.desk('view')
      const { state, text } = reloader
      return { file: state.file, text, shown }
    },
  }
}

/** The parameter that takes the whole body, if the operation has one. */
function contentParameterOf({
  parameters,
}: Pick<Served, 'parameters'>): [name: string, content: ContentParameter] | undefined {
  for (const [name, parameter] of Object.entries(parameters)) {
    if ('types' in parameter) return [name, parameter]
  }
  return undefined
}

function keyNameOf({ parameters }: Served): string | undefined {
  return Object.keys(parameters).find((name) => 'isKey' in (parameters[name] ?? {}))
}
