import type { Clock } from '../../../shared/clock.ts'
import type { Ban, QuotaStore } from '../../limits/store.ts'
import type { Breaker } from './breaker.ts'
import type { Connection } from './connect.ts'
import { decisionsIn } from './decisions.ts'
import { Fleet } from './fleet.ts'
import { keyedScript } from './script.ts'
import { toldOf, watchBans } from './watch-bans.ts'

export type QuotaOptions = Readonly<{
  connection: Connection
  /** What every name begins with. */
  prefix: string
  timeoutMs: number
  breaker?: Breaker | undefined
  /** For tests that move the time; without it Redis' own clock decides, for all gateways. */
  testClock?: Clock
}>

/** Counts in Redis, whose clock is the only one. Who has opened the connection ends it. */
export function redisQuotas(options: QuotaOptions): QuotaStore {
  const { connection, prefix, timeoutMs, breaker, testClock } = options
  const edit = keyedScript({ connection, timeoutMs, breaker, file: 'quota-edit.lua' })
  const hashOf = (quota: string): string => `${prefix}quota:${quota}`
  const [list, lifts, channel] = [`${prefix}bans`, `${prefix}lifts`, `${prefix}bans:told`]
  const now = (): number | '' => testClock?.() ?? ''
  const decide = decisionsIn({
    ...{ connection, timeoutMs, breaker, hashOf, now },
    // The decision stands whether or not this comes through: others meet the ban when they ask.
    banned: (quota, key, untilMs) => void note(quota, key, untilMs).catch(() => undefined),
  })
  const endings = new Set<() => void>()
  const fleet = new Set<Fleet>()

  /** Kept beside the hashes, which may be anywhere in a Cluster, so that bans can be listed. */
  async function note(quota: string, key: string, untilMs: number): Promise<void> {
    await connection.zadd(list, untilMs, JSON.stringify([key, quota]))
    await connection.publish(channel, toldOf({ key, quota, untilMs }))
  }

  async function forgive(): Promise<void> {
    const [seconds, micros] = await connection.time()
    await connection.set(lifts, Number(seconds) * 1e6 + Number(micros))
    await connection.publish(channel, '')
  }

  return {
    isLocal: false,

    get gateways() {
      return Math.max(1, ...[...fleet].map(({ size }) => size))
    },

    decide,

    async giveBack(quota, cost, day) {
      await edit(hashOf(quota), 'giveBack', cost, day, now())
    },

    async reset(quota) {
      await edit(hashOf(quota), 'reset', now())
      await forgive()
    },

    async ban(quota, key, untilMs) {
      await edit(hashOf(quota), 'ban', key, untilMs, now())
      await forgive()
      await note(quota, key, untilMs)
    },

    async lift(quota, key) {
      const ran = Number(await edit(hashOf(quota), 'lift', key, now())) === 1
      await connection.zrem(list, JSON.stringify([key, quota]))
      await forgive()
      return ran
    },

    async bans() {
      const nowMs = testClock?.() ?? Number((await connection.time())[0]) * 1_000
      await connection.zremrangebyscore(list, '-inf', String(nowMs))
      const flat = await connection.zrange(list, '0', '-1', 'WITHSCORES')
      const found: Ban[] = []
      for (let i = 0; i + 1 < flat.length; i += 2) {
        const [key = '', quota = ''] = JSON.parse(flat[i] ?? '[]') as string[]
        found.push({ key, quota, untilMs: Number(flat[i + 1]) })
      }
      return found
    },

    watch(listener) {
      const end = watchBans(connection, { lifts, channel }, listener)
      const beat = new Fleet(connection, `${prefix}gateways`)
      fleet.add(beat)
      endings.add(end)
      if (breaker && listener.trouble) endings.add(breaker.onChange(listener.trouble))
      return end
    },

    async close() {
      endings.forEach((end) => end())
      await Promise.all([...fleet].map((beat) => beat.leave(timeoutMs)))
    },
  }
}
