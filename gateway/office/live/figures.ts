import { checkerOf, readerOf, Type, type Static } from '../../../shared/schema.ts'
import { isWindowName } from '../../../shared/windows.ts'
import { sentenceOf, whyOf } from '../explain/sentences.ts'
import type { RecentRefusals } from '../../front/counts/recent-refusals.ts'
import type { KeptRefusal } from '../../front/counts/kept-refusal.ts'
import type { Member } from '../../front/fleet/store.ts'
import type { LiveCounts } from '../../front/counts/live-counts.ts'
import type { RefusedKey } from '../../front/counts/refused-keys.ts'
import { failureSide, type LatestFailure } from '../../front/counts/latest-failures.ts'
import { holderOf } from '../../front/counts/use.ts'
import { numbersOfRow } from '../../front/counts/sum-rows.ts'

/** The kind of the question for live figures. */
export const liveKind = 'live'

/** The most refused keys, routes, causes of failures and refusals that one gateway tells at a time. */
const mostKeys = 50
const mostCauses = 50
const mostRoutes = 50
export const mostRefusals = 50

const [text, number, flag] = [Type.String(), Type.Number(), Type.Boolean()]
const orNone = <Schema extends object>(schema: Schema) => Type.Union([schema, Type.Null()])

/** The last second, and the number of the last refusal, that a gateway’s answers have come to. */
const known = Type.Object({ second: number, refusal: number })
export type Known = Static<typeof known>

/** A question for live figures. */
const question = Type.Object({
  /** The figures that the asker has of each gateway, by the ids of their processes. */
  known: Type.Record(text, known),
  /** The number of seconds that a gateway tells of which isn't known. */
  seconds: number,
  /** Whether such a gateway also tells of the minutes of a day. */
  minutes: flag,
})
export type LiveQuestion = Static<typeof question>

/** A target as one gateway sees it. */
const target = Type.Object({
  ...{ upstream: text, target: text, healthy: flag },
  /** The time since which it is so, and why if it isn't healthy. */
  ...{ sinceMs: number, cause: text },
})
export type TargetFigures = Readonly<Static<typeof target>>

const refusal = Type.Object({
  ...{ id: text, time: text, gateway: text, route: text, status: number, reason: text },
  ...{ key: orNone(text), name: orNone(text), plan: orNone(text) },
  ...{ code: orNone(text), window: orNone(text) },
  operation: Type.Optional(text),
  cap: Type.Optional(Type.Literal(true)),
})
export type LatestRefusal = Readonly<Static<typeof refusal>>

const refusedKey = Type.Object({
  ...{ key: text, name: text, plan: text, window: orNone(text), count: number },
})
export type RefusedKeyFigures = Readonly<Static<typeof refusedKey>>

const route = Type.Object({
  ...{ route: text, refused: number, failed: number, times: Type.Array(number) },
})

/** The failed answers of the last 15 minutes for one cause; time, id and sentence are of the newest. */
const failure = Type.Object({
  side: Type.Enum(['gateway', 'noBackend', 'backend']),
  ...{ upstream: text, reason: text, status: number, count: number },
  ...{ last: text, id: text, sentence: text },
})
export type FailureFigures = Readonly<Static<typeof failure>>

/** Each row begins with its number, and goes on with the columns of a `SumRows`. */
const rows = Type.Array(
  Type.Array(number, { minItems: numbersOfRow + 1, maxItems: numbersOfRow + 1 }),
)

/** The figures of one gateway. */
const figures = Type.Object({
  /** Of its process. */
  id: text,
  name: text,
  /** The time by which its seconds are numbered. */
  nowMs: number,
  /** The time since which it has counted, by the same. */
  sinceMs: number,
  seconds: rows,
  minutes: rows,
  /** The last second that is over. */
  second: number,
  /** The newest refusals, the oldest first, and the number of the last one. */
  refusals: Type.Array(refusal),
  refusal: number,
  refusedKeys: Type.Array(refusedKey),
  routes: Type.Array(route),
  failures: Type.Array(failure),
  targets: Type.Array(target),
  /** Whether the store could be asked last. */
  isReachable: flag,
  /** Absent in an app that uses the plugin. */
  config: orNone(Type.Object({ hash: text, sharedHash: text, refuses: orNone(text) })),
})
export type Figures = Readonly<Static<typeof figures>>

export type FiguresOptions = Readonly<{
  counts: LiveCounts
  recentRefusals: RecentRefusals
  self: () => Member
  isReachable: () => boolean
  targets: () => readonly TargetFigures[]
}>

/** The live figures of this gateway for a question. */
export function figuresFor(
  { known, seconds, minutes }: LiveQuestion,
  { counts, recentRefusals, self, isReachable, targets }: FiguresOptions,
): Figures {
  const { sums, byRoute, refusedKeys } = counts
  const { id, name, config } = self()
  const before = known[id]
  const { nowMs } = sums
  const second = sums.close()
  const { number } = recentRefusals
  const after = Math.max(before ? before.refusal : 0, number - mostRefusals)
  return {
    id,
    name,
    nowMs,
    sinceMs: sums.sinceMs,
    seconds: sums.secondsAfter(before ? before.second : second - seconds),
    minutes: minutes && !before ? sums.minutes() : [],
    second,
    refusals: recentRefusals.between(after, number).map((refusal) => refusalView(refusal, name)),
    refusal: number,
    refusedKeys: refusedKeys.top(mostKeys, second).map(keyView),
    routes: [...byRoute.top(mostRoutes, Math.floor(nowMs / 1_000))],
    failures: recentRefusals.failures.top(mostCauses, nowMs).map(failureView),
    targets: [...targets()],
    isReachable: isReachable(),
    config: config
      ? { hash: config.hash, sharedHash: config.sharedHash, refuses: config.refusal ?? null }
      : null,
  }
}

function refusalView(refusal: KeptRefusal, gateway: string): LatestRefusal {
  const { id, atMs, caller, status, code, reason, route } = refusal
  return {
    id,
    time: new Date(atMs).toISOString(),
    gateway,
    key: caller?.id ?? null,
    name: caller?.name ?? null,
    plan: caller?.plan ?? null,
    route,
    status,
    code: code ?? null,
    reason: whyOf(refusal),
    ...holderOf(refusal),
    window: isWindowName(reason) ? reason : null,
  }
}

function failureView({ newest, count }: LatestFailure): FailureFigures {
  const { upstream, status, id, atMs } = newest
  const about = { side: failureSide(newest), upstream, reason: whyOf(newest), status }
  return { ...about, count, last: new Date(atMs).toISOString(), id, sentence: sentenceOf(newest) }
}

function keyView({ caller, by, count }: RefusedKey): RefusedKeyFigures {
  const window = by === 'other' ? null : by
  return { key: caller.id, name: caller.name, plan: caller.plan, window, count }
}

/** The question in a text; `undefined` if another program has written it. */
export const questionFrom = readerOf(question)

const areFigures = checkerOf(figures)

/** The figures in an answer; `undefined` if another program, or another version, has written it. */
export function figuresFrom(answer: unknown): Figures | undefined {
  return areFigures(answer) ? answer : undefined
}
