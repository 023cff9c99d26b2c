import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import type * as Flexible from 'rate-limiter-flexible'
import type { StrangerPoints, StrangerStore } from '../../limits/stranger-store.ts'
import { unavailable } from './answer.ts'
import { AnswerTimeouts } from './answer-timeouts.ts'
import { within, type RedisOptions } from './script.ts'

/** How long a count outlives its window: for gateways whose clocks are late. */
const graceSeconds = 5

/** The length of an address's name. 2^96 of them don't meet by chance. */
const nameLength = 16

const require = createRequire(import.meta.url)

/**
 * Counts of strangers, each a number of its own in Redis, added up by rate-limiter-flexible. Its windows begin with
 * their first point, so the number of the window is in the name, and the number ends with the window.
 */
export function redisStrangers(options: RedisOptions): StrangerStore {
  const { connection, prefix, timeoutMs, breaker } = options
  // Loaded here, because command lines count no strangers, and loading it takes 15 ms.
  const { RateLimiterRedis } = require('rate-limiter-flexible') as typeof Flexible
  // Its limit and its length decide nothing: `penalty` adds points whatever they come to, for as long as it is told.
  const counts = new RateLimiterRedis({
    storeClient: connection,
    // The names that it is given are whole.
    keyPrefix: '',
    points: 1,
    duration: 60,
  })
  const timeouts = new AnswerTimeouts(timeoutMs)

  const addOne = async ({ address, window, number, leftMs, points }: StrangerPoints) => {
    const customDuration = Math.ceil(leftMs / 1_000) + graceSeconds
    const name = `${prefix}strangers:${window}:${number}:${nameOf(address)}`
    return (await counts.penalty(name, points, { customDuration })).consumedPoints
  }

  return {
    async add(all) {
      const sums: (number | undefined)[] = []
      await within(
        timeouts,
        (answered, failed) => {
          void Promise.allSettled(all.map(addOne)).then((results) => {
            for (const result of results) sums.push(isDone(result) ? result.value : undefined)
            const [first] = results
            if (first && !isDone(first) && !results.some(isDone)) failed(unavailable(first.reason))
            else answered(undefined)
          })
        },
        breaker,
      )
      return sums
    },
  }
}

function isDone<T>(result: PromiseSettledResult<T>): result is PromiseFulfilledResult<T> {
  return result.status === 'fulfilled'
}

/** The name of an address: of one length, whatever the address, and not the address itself. */
function nameOf(address: string): string {
  return hash('sha256', address, 'base64url').slice(0, nameLength)
}
