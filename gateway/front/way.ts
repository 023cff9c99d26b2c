/** The files that a gateway of its own reads a request in before the first stage, in their order, and what they do with it. */
export const beforeStages = [
  ['shared/node/quiet.ts', 'ends connections on which nothing comes'],
  [
    'gateway/front/http/wire.ts',
    'hands each request on, whatever it expects or wants to upgrade to',
  ],
  [
    'gateway/front/server.ts',
    'hands it to the app of the configuration in force, in one spelling of its path',
  ],
  ['shared/request-id.ts', 'takes its id, or makes one'],
  ['shared/service.ts', 'gives it the log'],
] as const

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
