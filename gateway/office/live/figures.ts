import { checkerOf, readerOf, Type } from '../../../shared/schema.ts'
import { isWindowName } from '../../../shared/windows.ts'
import { whyOf, type Why } from '../explain/sentences.ts'
import type { RecentRefusals } from '../../front/counts/recent-refusals.ts'
import type { KeptRefusal } from '../../front/counts/kept-refusal.ts'
import type { FleetQuestions } from '../../front/fleet/questions.ts'
import type { Member, MemberConfig } from '../../front/fleet/store.ts'
import type { LiveCounts } from '../../front/counts/live-counts.ts'
import type { RefusedKey, Refuser } from '../../front/counts/refused-keys.ts'
import { holderOf } from '../../front/counts/use.ts'
import type { RouteFigures } from '../../front/counts/latest-by-route.ts'
import { numbersOfRow } from '../../front/counts/sum-rows.ts'

/** The kind of the question for live figures. */
export const liveKind = 'live'

/** The most refused keys, routes and refusals that one gateway tells at a time. */
const mostKeys = 50
const mostRoutes = 50
export const mostRefusals = 50

/** A question for live figures: what the asker knows of each gateway, by the ids of their processes. */
export type LiveQuestion = Readonly<{
  known: Readonly<Record<string, Known>>
  /** The number of seconds that a gateway tells of which isn't known. */
  seconds: number
  /** Whether such a gateway also tells of the minutes of a day. */
  minutes: boolean
}>

/** The last second, and the number of the last refusal, that a gateway’s answers have come to. */
export type Known = Readonly<{ second: number; refusal: number }>

/** A target as one gateway sees it. */
export type TargetFigures = Readonly<{ upstream: string; target: string; healthy: boolean }>

export type LatestRefusal = ReturnType<typeof refusalView>
export type RefusedKeyFigures = ReturnType<typeof keyView>

/** The figures of one gateway. */
export type Figures = Readonly<{
  /** Of its process. */
  id: string
  name: string
  /** The time by which its seconds are numbered. */
  nowMs: number
  /** Each row begins with its number, and goes on with the columns of a `SumRows`. */
  seconds: readonly (readonly number[])[]
  minutes: readonly (readonly number[])[]
  /** The last second that is over. */
  second: number
  /** The newest refusals, the oldest first, and the number of the last one. */
  refusals: readonly LatestRefusal[]
  refusal: number
  refusedKeys: readonly RefusedKeyFigures[]
  routes: readonly RouteFigures[]
  targets: readonly TargetFigures[]
  /** Whether the store could be asked last. */
  isReachable: boolean
  /** Absent in an app that uses the plugin. */
  config: Readonly<{ hash: string; sharedHash: string; refuses: string | null }> | null
}>

export type FiguresOptions = Readonly<{
  counts: LiveCounts
  recentRefusals: RecentRefusals
  self: () => Member
  isReachable: () => boolean
  targets: () => readonly TargetFigures[]
}>

/** Reads the live figures of this gateway for a question. */
export type ReadFigures = (question: LiveQuestion) => Figures

export function figuresReader(options: FiguresOptions): ReadFigures {
  const { counts, recentRefusals, isReachable, targets } = options
  return ({ known, seconds, minutes }) => {
    const { sums, byRoute, refusedKeys } = counts
    const { id, name, config } = options.self()
    const before = known[id]
    const { nowMs } = sums
    const second = sums.close()
    return {
      id,
      name,
      nowMs,
      seconds: sums.secondsAfter(before ? before.second : second - seconds),
      minutes: minutes && !before ? sums.minutes() : [],
      second,
      refusals: recentRefusals
        .between(
          Math.max(before ? before.refusal : 0, recentRefusals.number - mostRefusals),
          recentRefusals.number,
        )
        .map((refusal) => refusalView(refusal, name)),
      refusal: recentRefusals.number,
      refusedKeys: refusedKeys.top(mostKeys, second).map(keyView),
      routes: byRoute.top(mostRoutes, Math.floor(nowMs / 1_000)),
      targets: targets(),
      isReachable: isReachable(),
      config: config ? configView(config) : null,
    }
  }
}

/** Lets a gateway answer questions for live figures. Returns the function that ends it. */
export function answerLive(questions: FleetQuestions, read: ReadFigures): () => void {
  return questions.answer(liveKind, (about) => {
    const question = questionFrom(about)
    return question && read(question)
  })
}

function configView({ hash, sharedHash, refusal }: MemberConfig) {
  return { hash, sharedHash, refuses: refusal ?? null }
}

function refusalView(refusal: KeptRefusal, gateway: string) {
  const { id, atMs, caller, status, code, reason, route } = refusal
  const why: Why = whyOf(refusal)
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
    reason: why,
    ...holderOf(refusal),
    window: isWindowName(reason) ? reason : null,
  }
}

function keyView({ caller, by, count }: RefusedKey) {
  const window: Exclude<Refuser, 'other'> | null = by === 'other' ? null : by
  return { key: caller.id, name: caller.name, plan: caller.plan, window, count }
}

const [text, number] = [Type.String(), Type.Number()]

/** The question in a text; `undefined` if another program has written it. */
const questionFrom: (text: string) => LiveQuestion | undefined = readerOf(
  Type.Object({
    known: Type.Record(text, Type.Object({ second: number, refusal: number })),
    seconds: number,
    minutes: Type.Boolean(),
  }),
)

const rows = Type.Array(
  Type.Array(number, { minItems: numbersOfRow + 1, maxItems: numbersOfRow + 1 }),
)

/** The members of an answer by which the office works; the others are only shown. */
const areFigures: (answer: unknown) => boolean = checkerOf(
  Type.Object({
    id: text,
    name: text,
    nowMs: number,
    seconds: rows,
    minutes: rows,
    second: number,
    refusals: Type.Array(Type.Object({ time: text })),
    refusal: number,
    refusedKeys: Type.Array(
      Type.Object({ key: text, window: Type.Union([text, Type.Null()]), count: number }),
    ),
    routes: Type.Array(
      Type.Object({ route: text, refused: number, failed: number, times: Type.Array(number) }),
    ),
    targets: Type.Array(Type.Object({ upstream: text, target: text })),
    isReachable: Type.Boolean(),
    config: Type.Union([Type.Object({ hash: text, sharedHash: text }), Type.Null()]),
  }),
)

/** The figures in an answer; `undefined` if another program, or another version, has written it. */
export function figuresFrom(answer: unknown): Figures | undefined {
  return areFigures(answer) ? (answer as Figures) : undefined
}
