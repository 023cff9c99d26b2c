import { parentPort, workerData } from 'node:worker_threads'
import type { Asked, Beginning } from './messages.ts'

/** The time between two signs of life. */
const beatEveryMs = 1_000

/**
 * Takes the gateway's messages: the first is its beginning, and each later one a question. The code of the answers is
 * loaded with the first, so that a thread without questions is small. Gives signs of life in memory that the gateway sees.
 */
export function listen(open: (beginning: Beginning) => Promise<(asked: Asked) => void>): void {
  let opened: ReturnType<typeof open> | undefined
  parentPort?.on('message', (message: unknown) => {
    if (!opened) opened = open(message as Beginning)
    else void opened.then((answer) => answer(message as Asked))
  })
  const { beats } = workerData as Readonly<{ beats: Int32Array }>
  setInterval(() => Atomics.add(beats, 0, 1), beatEveryMs)
}
