/** Lets the event loop serve requests between two pieces of work. */
export { setImmediate as breathe } from 'node:timers/promises'
