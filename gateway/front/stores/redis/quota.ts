import type { Ban, PlaceReport, QuotaStore } from '../../limits/store.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'
import { decisionsIn, mostPerCall } from './decisions.ts'
import { usedOn, type QuotaPoints } from '../../limits/past-points.ts'
import { scanned } from './scan.ts'
import { quotaEditsIn, tellBan } from './quota-edits.ts'
import { grantLines, stateOfHash } from './quota-hash.ts'
import { isCluster } from './library.ts'
import { packedReport, takenFrom } from './places-text.ts'
import { scriptTime } from './script-time.ts'
import { keyedScript, type RedisOptions } from './script.ts'
import { watchBans } from './watch-bans.ts'

/** Counts in Redis, by Redis' clock. The opener of the connection closes it. */
export function redisQuotas(options: RedisOptions): QuotaStore {
  const { connection, prefix, timeoutMs, breaker, testClock } = options
  const hashOf = (quota: string): string => `${prefix}quota:${quota}`
  const names = { list: `${prefix}bans`, lifts: `${prefix}lifts`, channel: `${prefix}bans:told` }
  const time = (): string => scriptTime(testClock)
  const decide = decisionsIn({
    connection,
    timeoutMs,
    breaker,
    hashOf,
    time,
    // The decision stands even if this fails: other gateways learn of the ban when they ask.
    banned: (ban) => void tellBan({ connection, names }, ban).catch(() => undefined),
  })
  const endings = new Set<() => void>()

  return {
    isLocal: false,

    decide,

    ...quotaEditsIn({ ...options, hashOf, time, names }),

    async grants(quota) {
      return grantLines((await answerOf(connection.hget(hashOf(quota), 'n'))) ?? '')
    },

    ...placesIn(options, hashOf, time),

    async bans() {
      const nowMs = testClock?.() ?? Number((await answerOf(connection.time()))[0]) * 1_000
      await answerOf(connection.zremrangebyscore(names.list, '-inf', String(nowMs)))
      const flat = await answerOf(connection.zrange(names.list, '0', '-1', 'WITHSCORES'))
      const bans: Ban[] = []
      for (let i = 0; i + 1 < flat.length; i += 2) {
        const [key = '', quota = ''] = JSON.parse(flat[i] ?? '[]') as string[]
        bans.push({ key, quota, untilMs: Number(flat[i + 1]) })
      }
      return bans
    },

    points: (day) => pointsIn(connection, `${prefix}quota:`, day),

    watch(listener) {
      const end = watchBans(connection, names, listener)
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

/** The requests under way of quotas. All reports of a turn go in one call; in a Cluster each in its own. */
function placesIn(
  options: RedisOptions,
  hashOf: (quota: string) => string,
  time: () => string,
): Pick<QuotaStore, 'tellPlaces' | 'places'> {
  const { connection } = options
  const tell = keyedScript({ ...options, file: 'places-tell.lua' })
  const most = isCluster(connection) ? 1 : mostPerCall
  const tellSome = async (reports: readonly PlaceReport[]): Promise<unknown> => {
    const hashes = reports.map(({ quota }) => hashOf(quota))
    try {
      return await tell(hashes, time(), ...reports.map(({ told }) => packedReport(told)))
    } catch (error) {
      const isOfSlots = error instanceof Error && error.message.startsWith('CROSSSLOT')
      if (!isOfSlots || reports.length === 1) throw error
      return Promise.all(reports.map((report) => tellSome([report])))
    }
  }
  return {
    async tellPlaces(reports) {
      const calls: Promise<unknown>[] = []
      for (let i = 0; i < reports.length; i += most)
        calls.push(tellSome(reports.slice(i, i + most)))
      await Promise.all(calls)
    },

    async places(quota) {
      return takenFrom(await answerOf(connection.hgetall(hashOf(quota))))
    },
  }
}

/** The points of a day of all quotas, whose hashes have names with a prefix. */
async function* pointsIn(
  connection: Connection,
  prefix: string,
  day: number,
): AsyncGenerator<readonly QuotaPoints[]> {
  for await (const { server, names } of scanned(connection, prefix)) {
    const fields = names.map((hash) => server.hmget(hash, 'c', 'p', 'b').catch(() => []))
    const answers = await answerOf(Promise.all(fields))
    yield answers.flatMap(([counters, past, beyond], i) => {
      const state = stateOfHash({ c: counters ?? '', p: past ?? '', b: beyond ?? '' })
      return state ? usedOn((names[i] ?? '').slice(prefix.length), state, day) : []
    })
  }
}
