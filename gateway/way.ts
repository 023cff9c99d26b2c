/**
 * A request's way: the stages in their order, as the files in `stages/` are numbered. Those before `forward` see
 * the request when it comes in; `forward` is the handler of a route; those behind it see the answer.
 */
export const way = [
  'follow',
  'screen',
  'preflight',
  'authenticate',
  'admit',
  'retire',
  'forward',
  'announce',
] as const

export type StageName = (typeof way)[number]

/** Puts the stages of one route in order; one that a configuration doesn't need is left out. */
export function inOrder<Stage>(
  stages: Readonly<Partial<Record<StageName, Stage | undefined>>>,
): Stage[] {
  return way.map((name) => stages[name]).filter((stage) => stage !== undefined)
}
