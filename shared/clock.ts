/** Milliseconds since 1970, UTC. Code that needs the time gets a clock, so that tests can move it. */
export type Clock = () => number

/** Runs something after some milliseconds, 0 being the end of this turn of the loop; gives what ends the wait. */
export type Later = (run: () => void, afterMs: number) => () => void

/** The wait of processes. A simulation passes its own. */
export const later: Later = (run, afterMs) => {
  if (afterMs === 0) return clearImmediate.bind(undefined, setImmediate(run))
  return clearTimeout.bind(undefined, setTimeout(run, afterMs).unref())
}

/** Milliseconds as logs and answers tell them: the same in all, wherever they are kept meanwhile. */
export function toTenths(ms: number): number {
  return Math.round(ms * 10) / 10
}
