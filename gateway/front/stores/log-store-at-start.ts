import type { Log } from '../../../shared/log.ts'
import type { Stores } from './stores.ts'

/** The time until the first line about a missing store, and between the later ones. */
const firstLineMs = 1_000
const lineEveryMs = 10_000

/** How often it checks whether the store has answered. */
const checkEveryMs = 100

export type StartLogOptions = Readonly<{
  stores: Pick<Stores, 'waitsFor' | 'leftBehind'>
  /** Whether the key store has answered once. */
  isMet: () => boolean
  log: Log
}>

/**
 * Logs while a starting gateway waits for its store. When the store has answered, warns if it has no keys
 * while the gateway's earlier file has some. Returns the function that ends it.
 */
export function logStoreAtStart({ stores, isMet, log }: StartLogOptions): () => void {
  const beganAtMs = performance.now()
  let lineAtMs = beganAtMs + firstLineMs
  let hasWaited = false
  const check = (): void => {
    if (isMet()) {
      end()
      if (hasWaited) log.info({}, 'the store is there')
      stores.leftBehind().then(
        (warning) => warning !== undefined && log.warn({}, warning),
        () => undefined,
      )
    } else if (performance.now() >= lineAtMs) {
      lineAtMs = performance.now() + lineEveryMs
      hasWaited = true
      log.warn({}, `waiting for ${stores.waitsFor()}`)
    }
  }
  const timer = setInterval(check, checkEveryMs)
  timer.unref()
  const end = (): void => clearInterval(timer)
  return end
}
