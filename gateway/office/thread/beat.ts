import { workerData } from 'node:worker_threads'

/** The time between two signs of life. */
const everyMs = 1_000

/** Counts signs of life in memory that the gateway sees. A thread whose loop stands still gives none. */
export function beat(): void {
  const { beats } = workerData as Readonly<{ beats: Int32Array }>
  setInterval(() => Atomics.add(beats, 0, 1), everyMs)
}
