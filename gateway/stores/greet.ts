import type { Log } from '../core.ts'
import type { Stores } from './open.ts'

/** When a gateway says for the first time that it waits for its store, and how often then. */
const firstWordMs = 1_000
const wordEveryMs = 10_000

/** How often it is looked whether the store has answered. */
const lookEveryMs = 100

export type GreetOptions = Readonly<{
  stores: Pick<Stores, 'waitsFor' | 'leftBehind'>
  /** Whether the key store has answered once. */
  isMet: () => boolean
  log: Log
}>

/**
 * Tells whoever starts a gateway that its store isn't there yet, and, once it is, that it has no keys while the file
 * that the gateway had before has some. Gives what ends it.
 */
export function greet({ stores, isMet, log }: GreetOptions): () => void {
  const beganAtMs = performance.now()
  let wordAtMs = beganAtMs + firstWordMs
  let hasWaited = false
  const look = (): void => {
    if (isMet()) {
      end()
      if (hasWaited) log.info({}, 'the store is there')
      stores.leftBehind().then(
        (warning) => warning !== undefined && log.warn({}, warning),
        () => undefined,
      )
    } else if (performance.now() >= wordAtMs) {
      wordAtMs = performance.now() + wordEveryMs
      hasWaited = true
      log.warn({}, `waiting for ${stores.waitsFor()}`)
    }
  }
  const timer = setInterval(look, lookEveryMs)
  timer.unref()
  const end = (): void => clearInterval(timer)
  return end
}
