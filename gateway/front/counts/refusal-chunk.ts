import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { toTenths } from '../../../shared/clock.ts'
import { isOf, readerOf, Type } from '../../../shared/schema.ts'
import { windowNames } from '../../../shared/windows.ts'
import { at, keptRefusal, numberNames, type KeptRefusal, type Said } from './kept-refusal.ts'
import type { RefusalColumns } from './refusal-block.ts'
import type { RefusalChunk } from './refusal-store.ts'

const [deflate, inflate] = [promisify(deflateRaw), promisify(inflateRaw)]

/** The most bytes that the answers of a chunk unpack to, which 250 with the longest names don't have. */
const mostBytes = 2 ** 21

const hashLength = 4

/** Parts of numbers that nobody is told of, and that take half of the space: those of a millisecond, and of 0.1 ms. */
const rounded: Readonly<Record<number, (number: number) => number>> = {
  [at.timeMs]: Math.floor,
  [at.ownMs]: toTenths,
  [at.upstreamMs]: toTenths,
}

/** A number of each answer, or the one number that all have. */
const column = Type.Union([
  Type.Number(),
  Type.Null(),
  Type.Array(Type.Union([Type.Number(), Type.Null()])),
])

const contentSchema = Type.Object({
  gateway: Type.String(),
  ids: Type.Array(Type.String()),
  paths: Type.Array(Type.String()),
  numbers: Type.Record(Type.String(), column),
  said: Type.Record(Type.String(), Type.Object({ values: Type.Array({}), places: column })),
})

/** JSON has null for Infinity. */
type Column = number | null | readonly (number | null)[]

type Content = Readonly<{
  gateway: string
  ids: readonly string[]
  paths: readonly string[]
  numbers: Readonly<Record<string, Column>>
  said: Readonly<Record<string, Readonly<{ values: readonly unknown[]; places: Column }>>>
}>

const contentFrom = readerOf(contentSchema)

/** Packs answers for a store, column by column: alike values side by side take little time and space. */
export async function packed(
  gateway: string,
  { hashes, ids, paths, numbers, said }: RefusalColumns,
  place: Pick<RefusalChunk, 'by' | 'place'>,
): Promise<RefusalChunk> {
  const columns = numbers.map((values, i) => {
    const round = rounded[i]
    if (!round) return values
    return typeof values === 'number' ? round(values) : values.map(round)
  })
  const content: Content = {
    gateway,
    ids,
    paths,
    numbers: Object.fromEntries(numberNames.map((name, i) => [name, columns[i] ?? 0])),
    said: Object.fromEntries(Object.entries(said).map(([name, all]) => [name, listed(all)])),
  }
  return {
    ...place,
    lastMs: Math.max(...[columns[at.timeMs] ?? 0].flat()),
    hashes: bytesOf(hashes),
    answers: await deflate(JSON.stringify(content), { level: 1 }),
  }
}

/** Values that repeat: each once, and the place of each answer's among them. */
function listed(all: readonly unknown[]) {
  const [first] = all
  if (all.every((value) => value === first)) return { values: [first], places: 0 }
  const places = new Map<unknown, number>()
  const column = all.map((value) => {
    const place = places.get(value) ?? places.size
    places.set(value, place)
    return place
  })
  return { values: [...places.keys()], places: column }
}

function bytesOf(hashes: Int32Array): Buffer {
  return Buffer.from(hashes.buffer, hashes.byteOffset, hashes.byteLength)
}

/** The number of answers in a chunk. */
export function countIn({ hashes }: Pick<RefusalChunk, 'hashes'>): number {
  return hashes.length / hashLength
}

/** Whether a chunk may have an answer whose id has this hash. */
export function mayHave({ hashes }: Pick<RefusalChunk, 'hashes'>, hash: number): boolean {
  return hashes.includes(bytesOf(Int32Array.of(hash)))
}

/** The answers of a chunk whose ids pass a check, and the name of their gateway; `undefined` if no gateway has written it. */
export async function unpacked(
  answers: Buffer,
  isWanted: (id: string) => boolean,
): Promise<Readonly<{ gateway: string; answers: readonly KeptRefusal[] }> | undefined> {
  const bytes = await inflate(answers, { maxOutputLength: mostBytes }).catch(() => undefined)
  const content = contentFrom(bytes?.toString())
  return (
    content && {
      gateway: content.gateway,
      answers: content.ids.flatMap((id, i) => {
        const answer = isWanted(id) ? answerIn(content, id, i) : undefined
        return isOf(answerSchema, answer) ? [answer] : []
      }),
    }
  )
}

function answerIn({ paths, numbers, said }: Content, id: string, i: number): KeptRefusal {
  const numberOf = (place: number): number => {
    const [name = ''] = numberNames.slice(place, place + 1)
    const value = valueAt(numbers[name], i)
    // A window that the gateway of the chunk doesn't know has no limit.
    const isAbsent = value === undefined && !name.endsWith(' limit')
    return isAbsent ? 0 : (value ?? Infinity)
  }
  const textOf = ([name, { values, places }]: [string, Content['said'][string]]) => {
    return [name, values[valueAt(places, i) ?? 0] ?? undefined]
  }
  const texts = Object.fromEntries(Object.entries(said).map(textOf)) as Said
  return keptRefusal(id, paths[i] ?? '', texts, numberOf)
}

function valueAt(values: Column | undefined, i: number): number | null | undefined {
  return typeof values === 'number' || !values ? values : values[i]
}

/** A time that a date can have. */
const someTime = Type.Number({ minimum: -8.64e15, maximum: 8.64e15 })

const window = Type.Object({
  limit: Type.Number(),
  used: Type.Optional(Type.Number()),
  resetMs: someTime,
})

/** The members that an answer must have, because whoever may use the store may write one. Codes and reasons may be later ones. */
const answerSchema = Type.Object({
  ...{ id: Type.String(), atMs: someTime, method: Type.String(), path: Type.String() },
  ...{ status: Type.Number(), code: Type.Optional(Type.String()) },
  ...{ reason: Type.Optional(Type.String()), of: Type.Optional(Type.String()) },
  caller: Type.Optional(
    Type.Object({
      ...{ id: Type.String(), name: Type.String(), plan: Type.String() },
      ...{ account: Type.Optional(Type.String()), isTest: Type.Optional(Type.Boolean()) },
    }),
  ),
  ...{ needs: Type.Optional(Type.Array(Type.String())), has: Type.Optional(Type.String()) },
  ...{ route: Type.String(), upstream: Type.String(), target: Type.Optional(Type.String()) },
  ...{ config: Type.String(), decidedBy: Type.Optional(Type.String()) },
  ...{ cost: Type.Number(), estimate: Type.Optional(Type.Number()) },
  ofWindow: Type.Optional(window),
  windows: Type.Object(
    Object.fromEntries(windowNames.map((name) => [name, Type.Optional(window)])),
  ),
  ...{ strikes: Type.Number(), strikesToBan: Type.Optional(Type.Number()) },
  bannedUntilMs: someTime,
  shareTaken: Type.Object({ underWay: Type.Number(), share: Type.Number() }),
  ...{ ownMs: Type.Number(), upstreamMs: Type.Optional(Type.Number()) },
})
