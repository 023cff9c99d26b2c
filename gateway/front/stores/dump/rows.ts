import { Type, type Static } from '../../../../shared/schema.ts'

/** The layout of dumps: a changed one takes the next number. */
export const format = 5

const natural = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const text = Type.String()
const object = Type.Object({})

/** The first line of a dump, of any format. */
export const headSchema = Type.Object({
  tollgate: Type.Literal('dump'),
  format: Type.Integer(),
  atMs: Type.Integer(),
})

/** The last line; `rows` is the number of those between it and the first one. */
export const endSchema = Type.Object({ end: Type.Literal(true), rows: natural })

/** The rows of each shelf. */
const rowOf = {
  /** The fields are those of a hash in Redis, which quota.lua describes. */
  quotas: Type.Object({ quota: text, fields: Type.Record(Type.String(), text) }),
  /** Each line of a key is a thing, a time, and its numbers there. A row without a key is about the whole space. */
  counts: Type.Object({
    space: text,
    key: text,
    lines: Type.Array(Type.Array(Type.Union([text, natural]))),
  }),
  lists: Type.Object({ list: text, entry: object }),
  documents: Type.Object({ folder: text, name: text, texts: Type.Array(text) }),
  keys: Type.Object({ key: object }),
}

export type Shelf = keyof typeof rowOf
export type RowOf<Name extends Shelf> = Name extends Shelf
  ? Readonly<{ shelf: Name } & Static<(typeof rowOf)[Name]>>
  : never
export type Row = RowOf<Shelf>

/** The schemas by the names that rows have. */
export const schemaOfShelf: ReadonlyMap<unknown, object> = new Map(Object.entries(rowOf))
