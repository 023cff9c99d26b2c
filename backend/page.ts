import type { FastifyReply } from 'fastify'
import { int64From } from '../shared/int64.ts'
import { shown } from '../shared/json.ts'
import { jsonType, Refusal } from '../shared/refusal.ts'

const defaultLimit = 20
const largestLimit = 100

type Query = Readonly<Record<string, string | readonly string[] | undefined>>

/** Where a page of a list begins and how long it is. */
export type Page = Readonly<{ limit: number; after: bigint }>

/** A page as SQLite hands it over: its JSON text, the last id on it, and whether more follows. */
export type PageRow = Readonly<{ body: string; last: bigint | null; more: bigint }>

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

/** Answers with a page, and with a `Link` to the next one while there is more. */
export function sendPage(
  reply: FastifyReply,
  path: string,
  { limit }: Page,
  { body, last, more }: PageRow,
  filter = '',
): FastifyReply {
  if (more) reply.header('link', `<${path}?limit=${limit}&after=${last}${filter}>; rel="next"`)
  return reply.type(jsonType).send(body)
}

/** One page of a table as JSON text, found through an index however far down the list it is. */
export function pageSql(table: string, json: string, filter = ''): string {
  return `SELECT body, last,
            n = :limit AND EXISTS (SELECT 1 FROM ${table} WHERE ${filter} id > last) AS more
          FROM (SELECT json_group_array(${json}) AS body, max(id) AS last, count(*) AS n
                FROM (SELECT * FROM ${table} WHERE ${filter} id > :after ORDER BY id LIMIT :limit))`
}

/** A row that a statement always gives. */
export function found<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('SQLite gave no row')
  return row
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
