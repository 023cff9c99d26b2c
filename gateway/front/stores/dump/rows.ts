import { Type, type Static } from '../../../../shared/schema.ts'

/** The layout of dumps: a changed one takes the next number. */
export const format = 1

const natural = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** The first line of a dump, of any format. */
export const headSchema = Type.Object({
  tollgate: Type.Literal('dump'),
  format: Type.Integer(),
  atMs: Type.Integer(),
})

/** The last line; `rows` is the number of those between it and the first one. */
export const endSchema = Type.Object({ end: Type.Literal(true), rows: natural })

/** The fields of a quota are those of its hash in Redis, which quota.lua describes. */
const quotaSchema = Type.Object({
  shelf: Type.Literal('quotas'),
  quota: Type.String(),
  fields: Type.Record(Type.String(), Type.String()),
})

/** Each line of a key is a thing, a time, and its numbers there. */
const countsSchema = Type.Object({
  shelf: Type.Literal('counts'),
  space: Type.String(),
  key: Type.String(),
  lines: Type.Array(Type.Array(Type.Union([Type.String(), natural]))),
})

const listSchema = Type.Object({
  shelf: Type.Literal('lists'),
  list: Type.String(),
  entry: Type.Object({}),
})

const documentSchema = Type.Object({
  shelf: Type.Literal('documents'),
  folder: Type.String(),
  name: Type.String(),
  texts: Type.Array(Type.String()),
})

const keySchema = Type.Object({ shelf: Type.Literal('keys'), key: Type.Object({}) })

export type QuotaRow = Static<typeof quotaSchema>
export type CountRow = Static<typeof countsSchema>
export type ListRow = Static<typeof listSchema>
export type DocumentRow = Static<typeof documentSchema>
export type KeyRow = Static<typeof keySchema>

export type Row = QuotaRow | CountRow | ListRow | DocumentRow | KeyRow

/** The rows of each shelf. */
export const schemaOfShelf: ReadonlyMap<unknown, object> = new Map<unknown, object>([
  ['quotas', quotaSchema],
  ['counts', countsSchema],
  ['lists', listSchema],
  ['documents', documentSchema],
  ['keys', keySchema],
])
