import {
  beginning,
  mostTokens,
  usesFrom,
  type KeyUses,
  type LastUseStore,
} from '../../keys/last-use-store.ts'
import type { WrittenStore } from '../dump/store.ts'
import { answerOf } from './answer.ts'
import { keyNames, keyScripts } from './key-names.ts'
import type { RedisOptions } from './script.ts'

/** Keys that are read per command. */
const idsAtOnce = 500

/** Last uses in a hash of Redis. Times are by Redis' clock. */
export function redisLastUses(options: RedisOptions): LastUseStore {
  const { connection, prefix, testClock } = options
  const { used: hash } = keyNames(prefix)
  const note = noter(options)

  return {
    async note(uses, nowMs) {
      const args = uses.flatMap(({ key, mark, atMs }) => [key, mark, atMs])
      await note(testClock?.() ?? '', nowMs, mostTokens, 1, ...args)
    },

    async of(ids) {
      const uses: (KeyUses | undefined)[] = []
      for (let start = 0; start < ids.length; start += idsAtOnce) {
        const some = ids.slice(start, start + idsAtOnce)
        uses.push(...(await answerOf(connection.hmget(hash, ...some))).map(usesFrom))
      }
      return uses
    },

    async since() {
      return usesFrom(await answerOf(connection.hget(hash, beginning.key)))?.get(beginning.mark)
    },
  }
}

/** Puts last uses of another store: of a token, the later one wins. */
export function usesPutter(options: RedisOptions): WrittenStore['putUses'] {
  const note = noter(options)
  return async (all) => {
    const args = all.flatMap(([key, uses]) => [...uses].flatMap((use) => [key, ...use]))
    // The same time for both clocks: those of the other store stay as they are.
    await note(0, 0, mostTokens, '', ...args)
  }
}

function noter(options: RedisOptions) {
  return keyScripts(options)('last-uses-note.lua', 'used')
}
