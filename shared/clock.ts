/** Milliseconds since 1970, UTC. Whoever needs the time is given one, so that tests can move it. */
export type Clock = () => number
