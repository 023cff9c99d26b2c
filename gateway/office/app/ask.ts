import { isOf } from '../../../shared/schema.ts'
import { sentencesAbout } from '../config/check.ts'
import { ConfigDocument } from '../config/document.ts'
import { isDeeper, mostLevels } from '../config/yaml-document.ts'
import { isLine } from '../../front/keys/settings.ts'
import type { Context } from '../operations/context.ts'
import { Listed } from '../operations/listed.ts'
import { bodySchema, fromMembers, parametersOf } from '../operations/members.ts'
import { forPrograms, requireOneOf, WrongInput, type Answering } from '../operations/operation.ts'
import type { RefusalCode } from '../../../shared/refusal.ts'
import { operationRefusal } from '../operations/refusal.ts'

/** Gives the context of one author; throws when the app is closed. */
export type ContextFor = (by: string) => Context

/** The author of changes that name none. */
const usualAuthor = 'app'

/** Runs an operation with what an app gives it, and resolves to its result for programs. Rejects with a `TollgateError`. */
export function ask<Json>(
  operation: Answering<Json>,
  contextFor: ContextFor,
  given: unknown = {},
): Promise<Json> {
  return forApp(() => answered(operation, contextFor, given, undefined), operation.changes ?? false)
}

/** Runs an operation about one key. */
export function askAbout<Json>(
  operation: Answering<Json>,
  contextFor: ContextFor,
  key: unknown,
  given: unknown = {},
): Promise<Json> {
  return forApp(() => answered(operation, contextFor, given, { key }), operation.changes ?? false)
}

async function answered<Json>(
  operation: Answering<Json>,
  contextFor: ContextFor,
  given: unknown,
  about: Readonly<{ key: unknown }> | undefined,
): Promise<Json> {
  const { by, members } = authored(operation, objectOf(operation, given))
  const context = contextFor(by)
  const values = valuesOf(operation, members, about !== undefined)
  if (about) values['key'] = (await context.desks().keys.find(keyText(about.key))).key
  requireOneOf(operation, values, (name) => name)
  if (operation.where !== 'anywhere') throw new Error(`${operation.name} can't be asked in an app`)
  const json = forPrograms(operation, await operation.run(context, values), context)
  // The type of an operation's answer is that of its JSON.
  return (json instanceof Listed ? await json.wholeJson() : json) as Json
}

/** The author of a change, and the other members. */
function authored(
  { name, changes = false }: Answering<unknown>,
  given: object,
): Readonly<{ by: string; members: object }> {
  if (!changes) return { by: usualAuthor, members: given }
  const { by = usualAuthor, ...members } = given as Readonly<Record<string, unknown>>
  if (typeof by === 'string' && isLine(by)) return { by, members }
  throw new WrongInput(`${name}: by must be a line of 1 to 255 characters, none of them invisible`)
}

/** The values of an operation's parameters. Throws with all mistakes. */
function valuesOf(
  { name, parameters }: Answering<unknown>,
  given: object,
  hasKey: boolean,
): Record<string, unknown> {
  const named = parametersOf(parameters, hasKey)
  const schema = bodySchema(named)
  // As JSON, a date is a text, and a member without a value is absent.
  const json = jsonOf(name, given)
  const members: unknown = JSON.parse(json)
  if (isOf(schema, members)) return fromMembers(named)(members)
  const faults = sentencesAbout(new ConfigDocument(json), schema, 'the object')
  throw new WrongInput(`${name}: ${faults}`)
}

function jsonOf(name: string, given: object): string {
  try {
    return JSON.stringify(given)
  } catch (error) {
    throw new WrongInput(`${name}: the object can’t be read: ${String(error)}`)
  }
}

function objectOf({ name }: Answering<unknown>, given: unknown): object {
  if (typeof given !== 'object' || given === null || isDeeper(given, mostLevels)) {
    throw new WrongInput(`${name} takes an object of at most ${mostLevels} levels`)
  }
  return given
}

/** The text by which an app names a key. */
export function keyText(key: unknown): string {
  if (typeof key === 'string') return key
  throw new WrongInput('name a key by its id, its name or its token, as a text')
}

/** The error of the operations of `app.tollgate`. In a route of the app, Fastify answers with its status. */
export class TollgateError extends Error {
  override readonly name = 'TollgateError'
  readonly code: RefusalCode
  readonly statusCode: number

  constructor(code: RefusalCode, statusCode: number, message: string, cause: unknown) {
    super(message, { cause })
    this.code = code
    this.statusCode = statusCode
  }
}

/** Runs something for an app, which gets a `TollgateError` for what an operation throws. A fault stays what it is. */
export async function forApp<Result>(
  run: () => Promise<Result>,
  mayChange = true,
): Promise<Result> {
  try {
    return await run()
  } catch (thrown) {
    const refusal = operationRefusal(thrown, mayChange)
    if (!refusal) throw thrown
    const { code, status, message } = refusal
    // Mistakes are told as commands tell them.
    const told = status < 500 && thrown instanceof Error ? thrown.message : message
    throw new TollgateError(code, status, told, thrown)
  }
}
