import { setEnvironmentData } from 'node:worker_threads'
import { until } from './until.ts'

/** The name of the gate's memory in threads. */
export const gateName = 'gate'

/** The places of its numbers: what a look does, whether it may go on, how many looks and threads came. */
export const [act, goOn, arrived, begun] = [0, 1, 2, 3] as const

const acts = { pass: 0, wait: 1, fail: 2, fill: 3 } as const

/** Holds or breaks the threads that run `held-thread.ts`, from the thread of a test. */
export function newGate() {
  const gate = new Int32Array(new SharedArrayBuffer(16))
  setEnvironmentData(gateName, gate.buffer)
  return {
    file: new URL('./held-thread.ts', import.meta.url),
    /** Says what a look at peaks does from now on. */
    let(what: keyof typeof acts): void {
      Atomics.store(gate, goOn, 0)
      Atomics.store(gate, act, acts[what])
      Atomics.store(gate, arrived, 0)
    },
    /** Waits until looks have come. */
    hasArrived: () => until(() => Atomics.load(gate, arrived) > 0, 30_000),
    open(): void {
      Atomics.store(gate, act, acts.pass)
      Atomics.store(gate, goOn, 1)
      Atomics.notify(gate, goOn)
    },
    /** How many threads have begun. */
    get threads(): number {
      return Atomics.load(gate, begun)
    },
  }
}
