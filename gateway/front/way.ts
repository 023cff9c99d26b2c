/**
 * A request's way: the stages in the order of the numbered files in `stages/`. Stages before `forward` see the
 * incoming request, `forward` is a route's handler, and the stage after it sees the answer.
 */
export const way = [
  'follow',
  'screen',
  'preflight',
  'authenticate',
  'act',
  'admit',
  'retire',
  'forward',
  'announce',
] as const

export type StageName = (typeof way)[number]

/** Puts the stages of a route in order, without those that the configuration doesn't need. */
export function inOrder<Stage>(
  stages: Readonly<Partial<Record<StageName, Stage | undefined>>>,
): Stage[] {
  return way.map((name) => stages[name]).filter((stage) => stage !== undefined)
}
