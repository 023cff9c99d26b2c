import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { rareFigures, type RareFigure } from '../../front/counts/use.ts'

/** Counts of requests that were admitted and refused, points less those that were given back, and the points that few have. */
export const figureNames = ['requests', 'points', ...rareFigures, 'refused'] as const

export type Figures = Record<(typeof figureNames)[number], number>

export function noFigures(): Figures {
  return { requests: 0, points: 0, estimated: 0, beyond: 0, refused: 0 }
}

/** The figures of anything that has them. */
export function figuresOf(of: Readonly<Figures>): Figures {
  const { requests, points, estimated, beyond, refused } = of
  return { requests, points, estimated, beyond, refused }
}

export function addFigures(sum: Figures, more: Readonly<Figures>): void {
  for (const name of figureNames) sum[name] += more[name]
}

/** The figures of a key in an account, by the usage that gateways have written down. */
export type KeyFigures = Readonly<Figures & { key: string }>

/** The figures of a route, by the usage that gateways have written down. */
export type RouteFigures = Readonly<Figures & { route: string }>

/** A quota on one day. Its points, and those of them that are beyond, are those that its counters have, the others what gateways have written down. */
export type LedgerRow = Readonly<
  Figures & {
    quota: string
    /** The plan of its keys at the end of the day; several, in their order, with commas between them. */
    plan: string
    /** Its keys that were used, by their ids. */
    keys: readonly KeyFigures[]
    /** Its routes, in the order of their paths, as far as they were counted. */
    routes: readonly RouteFigures[]
  }
>

/** Rows per chunk: some 3 ms to read. */
const rowsPerChunk = 2_000

const keyPrefix = 'key:'

const [deflate, inflate] = [promisify(deflateRaw), promisify(inflateRaw)]

/** Column by column: alike values side by side take half the space that rows take. */
type Columns = [
  quotas: string[],
  plans: string[],
  requests: number[],
  points: number[],
  refused: number[],
  /** Key, requests, points and refused of each key of an account; nothing for a key’s own quota. */
  keys: (readonly (readonly [string, number, number, number])[] | 0)[],
  /** The paths of routes; absent, like the next column, if no row has one. */
  paths?: string[],
  /** Of each row, the place of each route among the paths, its requests, points and refused, all in one list. */
  routes?: number[][],
  /** The rare figures, in their order: of each row, of its keys, and of its routes; absent or 0 if no row has any. */
  ...rare: (RareColumns | 0)[],
]

type RareColumns = readonly [rows: number[], keys: number[][], routes: number[][]]

/** Rows in chunks for a store. */
export async function packed(rows: readonly LedgerRow[]): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  for (let start = 0; start < rows.length; start += rowsPerChunk) {
    const some = rows.slice(start, start + rowsPerChunk)
    const columns: Columns = [
      some.map(({ quota }) => quota),
      some.map(({ plan }) => plan),
      some.map(({ requests }) => requests),
      some.map(({ points }) => points),
      some.map(({ refused }) => refused),
      some.map(({ quota, keys }) => {
        if (quota.startsWith(keyPrefix)) return 0
        return keys.map(({ key, requests, points, refused }) => [key, requests, points, refused])
      }),
      ...moreColumns(some),
    ]
    chunks.push(await deflate(JSON.stringify(columns), { level: 9 }))
  }
  return chunks
}

/** The columns that most days lack. */
function moreColumns(rows: readonly LedgerRow[]) {
  const routes = routeColumns(rows)
  const rare = rareFigures.map((name) => rareColumns(rows, name))
  if (rare.every((columns) => columns === 0)) return routes
  const [paths = [], lists = []] = routes
  return [paths, lists, ...rare] as const
}

function rareColumns(rows: readonly LedgerRow[], name: RareFigure): RareColumns | 0 {
  if (rows.every((row) => row[name] === 0)) return 0
  const column = (all: readonly Figures[]): number[] => all.map((each) => each[name])
  const ofKeys = rows.map(({ quota, keys }) => (quota.startsWith(keyPrefix) ? [] : column(keys)))
  return [column(rows), ofKeys, rows.map(({ routes }) => column(routes))]
}

function routeColumns(rows: readonly LedgerRow[]): [] | [string[], number[][]] {
  const places = new Map<string, number>()
  const placeOf = (route: string): number => {
    const index = places.get(route) ?? places.size
    places.set(route, index)
    return index
  }
  const lists = rows.map(({ routes }) =>
    routes.flatMap(({ route, requests, points, refused }) => [
      placeOf(route),
      requests,
      points,
      refused,
    ]),
  )
  return places.size === 0 ? [] : [[...places.keys()], lists]
}

function routesIn(
  list: readonly number[],
  paths: readonly string[],
  rareAt: (place: number) => Record<RareFigure, number>,
): RouteFigures[] {
  const routes: RouteFigures[] = []
  for (let i = 0; i < list.length; i += 4) {
    const [index = 0, requests = 0, points = 0, refused = 0] = list.slice(i, i + 4)
    const figures = { requests, points, refused, ...rareAt(routes.length) }
    routes.push({ route: paths[index] ?? '', ...figures })
  }
  return routes
}

/** The rows of a chunk. */
export async function unpacked(chunk: Buffer): Promise<LedgerRow[]> {
  const text = (await inflate(chunk)).toString()
  const columns = JSON.parse(text) as Columns
  const [quotas, plans, requests, points, refused, keys, paths = [], routes = [], ...rare] = columns
  const rareIn = (valueOf: (columns: RareColumns) => number | undefined) => {
    const values = rareFigures.map((name, i) => [name, (rare[i] && valueOf(rare[i])) || 0])
    return Object.fromEntries(values) as Record<RareFigure, number>
  }
  return quotas.map((quota, i) => {
    const figures = {
      requests: requests[i] ?? 0,
      points: points[i] ?? 0,
      refused: refused[i] ?? 0,
      ...rareIn(([rows]) => rows[i]),
    }
    const ofKeys = keys[i] || undefined
    return {
      quota,
      plan: plans[i] ?? '',
      ...figures,
      keys:
        ofKeys?.map(([key, requests, points, refused], at) => {
          return { key, requests, points, refused, ...rareIn(([, keys]) => keys[i]?.[at]) }
        }) ?? ownKey(quota, figures),
      routes: routesIn(routes[i] ?? [], paths, (at) => rareIn(([, , routes]) => routes[i]?.[at])),
    }
  })
}

/** The key of a quota of its own, which has all of it. */
export function ownKey(quota: string, figures: Figures): KeyFigures[] {
  return quota.startsWith(keyPrefix) ? [{ key: quota.slice(keyPrefix.length), ...figures }] : []
}
