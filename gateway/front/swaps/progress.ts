import { readerOf, type Static, Type } from '../../../shared/schema.ts'

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** The figures by which a side is measured. */
const measure = Type.Object({
  ...{ requests: count, failures: count },
  p95Ms: Type.Union([Type.Number({ minimum: 0 }), Type.Null()]),
})

export type Measure = Readonly<Static<typeof measure>>

const progress = Type.Object({
  // `checking`: the new side is compared with the old one. `refused`: the comparison found something. `moving`: a step, or
  // all. `back`: all callers are at the old side again. Only an operator goes on from `refused` and `back`.
  state: Type.Enum(['checking', 'refused', 'moving', 'back']),
  // The step, from 0; at the number of steps, all callers are at the new side.
  step: count,
  // The step before, which holds until this one begins; -1 for none.
  from: Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER }),
  isPaused: Type.Boolean(),
  // The beginning of this state and step, by the store's clock, up to the last time that a date can have. A step begins after
  // all gateways know of it.
  sinceMs: Type.Integer({ minimum: 0, maximum: 8.64e15 }),
  // Rises with each step. Counts belong to one round.
  round: count,
  // The gateway that compares.
  by: Type.Optional(Type.String()),
  // Why it is refused, or went back.
  why: Type.Optional(Type.String()),
  // The old side in the step before: the measure where it gets too few requests itself.
  before: Type.Optional(measure),
})

/** Where a swap stands. It is in the store, so all gateways agree, and a restart goes on where it was. */
export type SwapProgress = Readonly<Static<typeof progress>>

/** The progress from a stored text; `undefined` if it is damaged. */
export const progressFrom = readerOf(progress)

/** The time between a decision for a step and its beginning: all gateways begin it at one moment. */
const noticeMs = 1_000

/** How long a gateway may take for the comparison before another one begins it anew. */
export const longestCheckMs = 30_000

/** The progress of a swap that a gateway begins with a comparison. */
export function checking(by: string, nowMs: number): SwapProgress {
  return { ...begunAnew({ round: -1 }, nowMs), by }
}

/** The progress of a swap that an operator lets begin anew. */
export function begunAnew({ round }: Pick<SwapProgress, 'round'>, nowMs: number): SwapProgress {
  const next = { step: 0, from: -1, isPaused: false, sinceMs: nowMs, round: round + 1 }
  return { state: 'checking', ...next }
}

/** Whether a gateway should begin the comparison: nobody did, or the one that did is gone. */
export function isToCheck(progress: SwapProgress | undefined, nowMs: number): boolean {
  if (!progress) return true
  if (progress.state !== 'checking') return false
  return progress.by === undefined || nowMs - progress.sinceMs > longestCheckMs
}

/** The progress after the comparison. */
export function checked(
  progress: SwapProgress,
  why: string | undefined,
  nowMs: number,
): SwapProgress {
  const after = { ...progress, sinceMs: nowMs, round: progress.round + 1 }
  delete after.by
  if (why !== undefined) return { ...after, state: 'refused', why }
  return { ...after, state: 'moving', sinceMs: nowMs + noticeMs }
}

/** The progress after one more step, or with all callers at the new side. */
export function stepped(
  progress: SwapProgress,
  step: number,
  before: Measure | undefined,
  nowMs: number,
): SwapProgress {
  const sinceMs = nowMs + noticeMs
  const round = progress.round + 1
  const next = { ...progress, step, from: progress.step, isPaused: false, sinceMs, round }
  return before ? { ...next, before } : next
}

/** The progress that goes back. */
export function wentBack(progress: SwapProgress, why: string, nowMs: number): SwapProgress {
  const { step, from } = progress
  const round = progress.round + 1
  return { state: 'back', step, from, isPaused: false, sinceMs: nowMs, round, why }
}
