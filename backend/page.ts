import type { FastifyReply } from 'fastify'
import { int64From } from '../shared/int64.ts'
import { shown } from '../shared/json.ts'
import { jsonType, Refusal } from '../shared/refusal.ts'

const defaultLimit = 20
const largestLimit = 100

type Query = Readonly<Record<string, string | readonly string[] | undefined>>

/** Where a page of a list begins and how long it is. */
export type Page = Readonly<{ limit: number; after: bigint }>

export function pageFrom(query: unknown): Page {
  return {
    limit: limitFrom(parameter(query, 'limit')),
    after: afterFrom(parameter(query, 'after')),
  }
}

/** One query parameter; refuses it if it is given twice. */
export function parameter(query: unknown, name: string): string | undefined {
  const value = isQuery(query) ? query[name] : undefined
  if (value === undefined || typeof value === 'string') return value
  throw new Refusal('invalid_request', `${name} is given more than once.`)
}

/** The query behind a list: one row more than the page holds tells whether there is a next one. */
export function pageSql(table: string, json: string, filter = ''): string {
  return `SELECT ${json} FROM ${table} WHERE ${filter} id > :after ORDER BY id LIMIT :limit + 1`
}

/**
 * Answers with a page, and with a `Link` to the next one while there is more. The rows come as JSON
 * texts that SQLite wrote: joined here they cost a third less than an array made by SQLite.
 */
export function sendPage(
  reply: FastifyReply,
  path: string,
  { limit }: Page,
  rows: string[],
  filter = '',
): FastifyReply {
  if (rows.length > limit) {
    rows.pop()
    const link = `${path}?limit=${limit}&after=${idOf(rows[limit - 1])}${filter}`
    reply.header('link', `<${link}>; rel="next"`)
  }
  return reply.type(jsonType).send(`[${rows.join(',')}]`)
}

/** The id that leads each row's JSON. */
function idOf(row: string | undefined): string {
  return /^\{"id":(\d+)/.exec(row ?? '')?.[1] ?? '0'
}

function limitFrom(text: string | undefined): number {
  if (text === undefined) return defaultLimit
  const limit = int64From(text)
  if (limit !== undefined && limit >= 1n && limit <= largestLimit) return Number(limit)
  throw new Refusal(
    'invalid_request',
    `limit must be a whole number from 1 to ${largestLimit}, got ${shown(text)}.`,
  )
}

function afterFrom(text: string | undefined): bigint {
  if (text === undefined) return 0n
  const after = int64From(text)
  if (after !== undefined && after >= 0n) return after
  throw new Refusal('invalid_request', `after must be an id of this list, got ${shown(text)}.`)
}

function isQuery(query: unknown): query is Query {
  return typeof query === 'object' && query !== null
}
