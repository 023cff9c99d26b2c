import { writtenLines } from '../config/diff.ts'
import type { Loaded } from '../config/load.ts'
import type { Reloader } from '../config/reload.ts'
import type { OperatedGateway } from '../office.ts'
import type { ThreadInput } from './messages.ts'
import { ReadingThread, type ReadingThreadOptions } from './reading-thread.ts'

export type ThreadSource = Readonly<{
  gateway: OperatedGateway
  reloader: Reloader
  secret: string | undefined
}>

/** The thread of a gateway; `undefined` if its store is in this process's memory, where no other thread can read it. */
export function readingThreadOf(
  handing: ThreadSource,
  options: Partial<ReadingThreadOptions> = {},
): ReadingThread | undefined {
  const { redis, file } = handing.gateway.config.store
  if (!redis && file === ':memory:') return undefined
  return new ReadingThread({ hand: inputFrom(handing), ...options })
}

/** Makes the function that writes down the counts in memory and hands the gateway's parts over. */
function inputFrom({ gateway, reloader, secret }: ThreadSource): () => Promise<ThreadInput> {
  let known: Loaded | undefined
  let lines: ThreadInput['lines'] = {}
  return async () => {
    const { tallying, stores } = gateway.front
    // A failure is in the log already: then what is stored counts.
    await Promise.allSettled([tallying.flush(), stores.quota.flush?.()])
    const { loaded, environment } = reloader
    if (known !== loaded) {
      known = loaded
      lines = writtenLines(loaded.shown, loaded.lineOf)
    }
    const { config } = gateway
    return { config, shown: loaded.shown, lines, environment: { ...environment }, secret }
  }
}
