import { courseFrom } from '../../swaps/progress.ts'
import { swapKeptMs, type SwapName, type SwapStore } from '../../swaps/store.ts'
import { keyedScript, type RedisOptions } from './script.ts'

/** Swaps in Redis: two names each, in one slot of a Cluster. */
export function redisSwaps({ connection, prefix, timeoutMs }: RedisOptions): SwapStore {
  const lookAt = keyedScript({ connection, timeoutMs, file: 'swap-look.lua' })
  const changeAt = keyedScript({ connection, timeoutMs, file: 'swap-change.lua' })
  const namesOf = ({ upstream, id }: SwapName): string[] => {
    // A brace of the upstream's name would end the part that decides the slot.
    const swap = `${prefix}{swap:${encodeURIComponent(upstream)}:${id}}`
    return [swap, `${swap}:counts`]
  }

  return {
    async look(name, processRound) {
      const more = processRound ? [processRound.by, processRound.round, processRound.counts] : []
      const answer = await lookAt(namesOf(name), swapKeptMs, ...more)
      const [nowMs, version, course, counts] = answer as [unknown, unknown, unknown, string[]]
      return {
        nowMs: Number(nowMs),
        version: Number(version),
        course: courseFrom(String(course)),
        counts,
      }
    },

    async change(name, version, course) {
      const args = [swapKeptMs, version, course.round, JSON.stringify(course)]
      return Number(await changeAt(namesOf(name), ...args)) === 1
    },
  }
}
