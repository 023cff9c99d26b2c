import { dayMs } from '../../../../shared/windows.ts'
import { ledgerDays, type LedgerStore } from '../../records/ledger-store.ts'
import { answerOf } from './answer.ts'
import { keyedScript, type RedisOptions } from './script.ts'

/** The time limit for closing a day, which may be some MB. */
const closeTimeoutMs = 10_000

type Options = Pick<RedisOptions, 'connection' | 'prefix'>

/** The ledger in Redis, a hash a day, each of which a Cluster may have elsewhere. */
export function redisLedger({ connection, prefix }: Options): LedgerStore {
  const closeDay = keyedScript({ connection, timeoutMs: closeTimeoutMs, file: 'ledger-close.lua' })
  const hashOf = (day: number): string => `${prefix}{ledger:${day}}`
  const began = `${prefix}ledger:began`
  const countIn = (day: number): Promise<string | null> =>
    answerOf(connection.hget(hashOf(day), 'n'))

  return {
    async begin(day) {
      const noted = await answerOf(connection.get(began))
      if (noted !== null) return Number(noted)
      await answerOf(connection.setnx(began, day))
      return Number(await answerOf(connection.get(began)))
    },

    async close({ day, chunks }) {
      await closeDay(hashOf(day), (ledgerDays * dayMs) / 1_000, ...chunks)
    },

    isClosed: async (day) => (await countIn(day)) !== null,

    async chunks(day) {
      const count = await countIn(day)
      if (count === null) return undefined
      const chunks: Buffer[] = []
      for (let i = 0; i < Number(count); i++) {
        const chunk = await answerOf(connection.hgetBuffer(hashOf(day), String(i)))
        // A damaged count would lead on without end.
        if (!chunk) break
        chunks.push(chunk)
      }
      return chunks
    },
  }
}
