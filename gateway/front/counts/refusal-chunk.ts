import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { readerOf, Type } from '../../../shared/schema.ts'
import { windowNames } from '../../../shared/windows.ts'
import { hashOf, type KeptRefusal } from './refusal-block.ts'
import type { RefusalChunk } from './refusal-store.ts'

const [deflate, inflate] = [promisify(deflateRaw), promisify(inflateRaw)]

/** The most bytes that the answers of a chunk unpack to, which 250 with the longest names don't have. */
const mostBytes = 2 ** 21

const hashLength = 4

/** The answers of a chunk, and the name of the gateway that gave them. */
export type Unpacked = Readonly<{ gateway: string; answers: readonly KeptRefusal[] }>

/** A time that a date can have; that of a decision in Redis has parts of a millisecond. */
const someTime = Type.Number({ minimum: -8.64e15, maximum: 8.64e15 })

const window = Type.Object({
  limit: Type.Number(),
  used: Type.Optional(Type.Number()),
  resetMs: someTime,
})

/** The members of an answer that must be there: whoever may use the store may write one. */
const answerSchema = Type.Object({
  ...{ id: Type.String(), atMs: someTime, method: Type.String(), path: Type.String() },
  ...{ status: Type.Integer(), code: Type.Optional(Type.String()) },
  ...{ reason: Type.Optional(Type.String()), of: Type.Optional(Type.String()) },
  caller: Type.Optional(
    Type.Object({
      ...{ id: Type.String(), name: Type.String(), plan: Type.String() },
      ...{ account: Type.Optional(Type.String()), isTest: Type.Optional(Type.Boolean()) },
    }),
  ),
  ...{ route: Type.String(), upstream: Type.String(), target: Type.Optional(Type.String()) },
  ...{ config: Type.String(), decidedBy: Type.Optional(Type.String()) },
  ...{ cost: Type.Number(), estimate: Type.Optional(Type.Number()) },
  ofWindow: Type.Optional(window),
  windows: Type.Object(
    Object.fromEntries(windowNames.map((name) => [name, Type.Optional(window)])),
  ),
  ...{ strikes: Type.Number(), bannedUntilMs: someTime },
  shareTaken: Type.Object({ underWay: Type.Number(), share: Type.Number() }),
  ...{ ownMs: Type.Number(), upstreamMs: Type.Optional(Type.Number()) },
})

const chunkFrom = readerOf(
  Type.Object({ gateway: Type.String(), answers: Type.Array(answerSchema) }),
)

/** Packs answers for a store: as JSON, in a tenth of its bytes. */
export async function packed(
  { gateway, answers }: Unpacked,
  place: Pick<RefusalChunk, 'by' | 'place'>,
): Promise<RefusalChunk> {
  const hashes = Buffer.alloc(answers.length * hashLength)
  answers.forEach(({ id }, i) => hashes.writeInt32LE(hashOf(id), i * hashLength))
  const text = JSON.stringify({ gateway, answers })
  return {
    ...place,
    lastMs: Math.floor(Math.max(...answers.map(({ atMs }) => atMs))),
    hashes,
    answers: await deflate(text, { level: 1 }),
  }
}

/** The answers of a chunk; `undefined` if no gateway has written it. */
export async function unpacked(answers: Buffer): Promise<Unpacked | undefined> {
  const bytes = await inflate(answers, { maxOutputLength: mostBytes }).catch(() => undefined)
  // What is checked has the members of an answer; codes and reasons may be those of a later version.
  return chunkFrom(bytes?.toString()) as Unpacked | undefined
}

/** The number of answers in a chunk. */
export function countIn({ hashes }: Pick<RefusalChunk, 'hashes'>): number {
  return hashes.length / hashLength
}

/** Whether a chunk may have an answer whose id has this hash. */
export function mayHave({ hashes }: Pick<RefusalChunk, 'hashes'>, hash: number): boolean {
  const wanted = Buffer.alloc(hashLength)
  wanted.writeInt32LE(hash)
  return hashes.includes(wanted)
}
