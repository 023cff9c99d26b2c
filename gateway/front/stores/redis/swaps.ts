import { progressFrom } from '../../swaps/progress.ts'
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
      const [nowMs, version, progress, counts] = answer as [unknown, unknown, unknown, string[]]
      return {
        nowMs: Number(nowMs),
        version: Number(version),
        progress: progressFrom(String(progress)),
        counts,
      }
    },

    async change(name, version, progress) {
      const args = [swapKeptMs, version, progress.round, JSON.stringify(progress)]
      return Number(await changeAt(namesOf(name), ...args)) === 1
    },
  }
}
