/** Milliseconds since 1970, UTC. Code that needs the time gets a clock, so that tests can move it. */
export type Clock = () => number

/** Milliseconds as logs and answers tell them: the same in all, wherever they are kept meanwhile. */
export function toTenths(ms: number): number {
  return Math.round(ms * 10) / 10
}
