import type { Ban, QuotaStore } from '../../limits/store.ts'
import { answerOf } from './answer.ts'
import { decisionsIn, packedLimits } from './decisions.ts'
import { countersFrom, textOf } from '../../limits/counters-text.ts'
import { mostGrants } from '../../limits/grants.ts'
import { usedOn } from '../../limits/past-points.ts'
import { mastersOf, scanned } from './scan.ts'
import { grantLines, grantPoints, grantWords, packedParts, stateOfHash } from './quota-hash.ts'
import { scriptTime } from './script-time.ts'
import type { RedisFormat } from './format.ts'
import { keyedScript, type RedisOptions } from './script.ts'
import { banMessage, watchBans } from './watch-bans.ts'

export type RedisQuotaOptions = RedisOptions &
  Readonly<{
    /** Tells whether gateways of a former version count here, too; without it there are none. */
    format?: Pick<RedisFormat, 'isBesideFormer' | 'requireOwn'> | undefined
  }>

/** Counts in Redis, by Redis' clock. The opener of the connection closes it. */
export function redisQuotas(options: RedisQuotaOptions): QuotaStore {
  const { connection, prefix, timeoutMs, breaker, testClock, format } = options
  const edit = keyedScript({ connection, timeoutMs, breaker, file: 'quota-edit.lua' })
  const hashOf = (quota: string): string => `${prefix}quota:${quota}`
  const [list, lifts, channel] = [`${prefix}bans`, `${prefix}lifts`, `${prefix}bans:told`]
  const time = (): string => scriptTime({ testClock, isBesideFormer: format?.isBesideFormer })
  const decide = decisionsIn({
    connection,
    timeoutMs,
    breaker,
    hashOf,
    time,
    // The decision stands even if this fails: other gateways learn of the ban when they ask.
    banned: (quota, key, untilMs) => void publishBan(quota, key, untilMs).catch(() => undefined),
  })
  const endings = new Set<() => void>()

  /** Adds a ban to the list of bans, and tells other gateways. Hashes alone can't be listed: a Cluster spreads them. */
  async function publishBan(quota: string, key: string, untilMs: number): Promise<void> {
    await answerOf(connection.zadd(list, untilMs, JSON.stringify([key, quota])))
    await answerOf(connection.publish(channel, banMessage({ key, quota, untilMs })))
  }

  /** Tells all gateways that a ban was lifted, a quota reset or points granted. */
  async function publishLift(): Promise<void> {
    const [seconds, micros] = await answerOf(connection.time())
    await answerOf(connection.set(lifts, Number(seconds) * 1e6 + Number(micros)))
    await answerOf(connection.publish(channel, ''))
  }

  return {
    isLocal: false,

    decide,

    async adjust(quota, { points, isAnswered }, admission) {
      const { counters: admitted, parts, seen, included, numbered } = admission
      const texts = [textOf(admitted), seen ? textOf(seen) : '', packedParts(parts, seen?.parts)]
      const number = numbered ? `${numbered.by},${numbered.number},${numbered.from}` : ''
      const args = [
        points,
        isAnswered ? 1 : 0,
        ...texts,
        included ? packedLimits(included) : '',
        number,
      ]
      const text = String(await edit(hashOf(quota), time(), 'adjust', ...args))
      const counters = countersFrom(text.split(',').map(Number))
      if (!counters) throw new Error('Redis gave no counters')
      return counters
    },

    async reset(quota) {
      await edit(hashOf(quota), time(), 'reset')
      await publishLift()
    },

    async setMonthFrom(quota, monthFrom) {
      await format?.requireOwn()
      await edit(hashOf(quota), time(), 'month', monthFrom)
      await publishLift()
    },

    async grant(quota, grant) {
      await format?.requireOwn()
      const args = [grantPoints(grant), mostGrants, grantWords(grant)]
      if (Number(await edit(hashOf(quota), time(), 'grant', ...args)) === 0) return false
      await publishLift()
      return true
    },

    async grants(quota) {
      return grantLines((await answerOf(connection.hget(hashOf(quota), 'n'))) ?? '')
    },

    async ban(quota, key, untilMs) {
      await edit(hashOf(quota), time(), 'ban', key, untilMs)
      await publishLift()
      await publishBan(quota, key, untilMs)
    },

    async lift(quota, key) {
      const ran = Number(await edit(hashOf(quota), time(), 'lift', key)) === 1
      await answerOf(connection.zrem(list, JSON.stringify([key, quota])))
      await publishLift()
      return ran
    },

    async bans() {
      const nowMs = testClock?.() ?? Number((await answerOf(connection.time()))[0]) * 1_000
      await answerOf(connection.zremrangebyscore(list, '-inf', String(nowMs)))
      const flat = await answerOf(connection.zrange(list, '0', '-1', 'WITHSCORES'))
      const bans: Ban[] = []
      for (let i = 0; i + 1 < flat.length; i += 2) {
        const [key = '', quota = ''] = JSON.parse(flat[i] ?? '[]') as string[]
        bans.push({ key, quota, untilMs: Number(flat[i + 1]) })
      }
      return bans
    },

    async *points(day) {
      const names = `${prefix}quota:`
      for (const server of mastersOf(connection)) {
        for await (const hashes of scanned(server, names)) {
          const fields = hashes.map((hash) => server.hmget(hash, 'c', 'p', 'b').catch(() => []))
          const answers = await answerOf(Promise.all(fields))
          yield answers.flatMap(([counters, past, beyond], i) => {
            const state = stateOfHash({ c: counters ?? '', p: past ?? '', b: beyond ?? '' })
            return state ? usedOn((hashes[i] ?? '').slice(names.length), state, day) : []
          })
        }
      }
    },

    watch(listener) {
      const end = watchBans(connection, { lifts, channel }, listener)
      endings.add(end)
      if (breaker && listener.trouble) endings.add(breaker.onChange(listener.trouble))
      return end
    },

    close() {
      endings.forEach((end) => end())
      return Promise.resolve()
    },
  }
}
