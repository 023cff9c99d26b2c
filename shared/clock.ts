/** Milliseconds since 1970, UTC. Code that needs the time gets a clock, so that tests can move it. */
export type Clock = () => number
