import type { Clock } from '../../../shared/clock.ts'
import type { Ask, BanRules, Decision, Owed, Seen } from '../../limits/step.ts'
import { pollMs } from '../keys.ts'
import type { Ban, BanListener, QuotaStore } from '../quota.ts'
import type { Breaker } from './breaker.ts'
import { duplicate, type Connection } from './connect.ts'
import { Fleet } from './fleet.ts'
import { keyedScript } from './script.ts'

const verdicts = ['admitted', 'refused', 'banned'] as const

export type QuotaOptions = Readonly<{
  connection: Connection
  /** What every name begins with. */
  prefix: string
  timeoutMs: number
  breaker?: Breaker | undefined
  /** For tests that move the time; without it Redis' own clock decides, for all gateways. */
  testClock?: Clock
}>

/** Counts in Redis, whose clock is the only one. */
export function redisQuotas(options: QuotaOptions): QuotaStore {
  const { connection, prefix, timeoutMs, breaker, testClock } = options
  const run = keyedScript({ connection, timeoutMs, breaker, file: 'quota.lua' })
  const edit = keyedScript({ connection, timeoutMs, breaker, file: 'quota-edit.lua' })
  const hashOf = (quota: string): string => `${prefix}quota:${quota}`
  const [list, lifts, channel] = [`${prefix}bans`, `${prefix}lifts`, `${prefix}bans:told`]
  const now = (): number | '' => testClock?.() ?? ''
  const rules = new WeakMap<BanRules, string>()
  const endings = new Set<() => void>()
  const fleet = new Set<Fleet>()

  function packed(bans: BanRules | undefined): string {
    if (!bans) return ''
    const known = rules.get(bans)
    if (known) return known
    const { strikes, withinMs, graceMs, forMs, factor, atMostMs, memoryMs } = bans
    const text = [strikes, withinMs, graceMs, forMs, factor, atMostMs, memoryMs].join()
    rules.set(bans, text)
    return text
  }

  /** Kept beside the hashes, which may be anywhere in a Cluster, so that bans can be listed. */
  async function note(quota: string, key: string, untilMs: number): Promise<void> {
    await connection.zadd(list, untilMs, JSON.stringify([key, quota]))
    await connection.publish(channel, `${untilMs} ${key} ${quota}`)
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

    async decide(quota, ask) {
      const { key, cost, limits, bans, seen, owed } = ask
      const answer = await run(
        hashOf(quota),
        key,
        cost,
        limits.perMinute === Infinity ? -1 : limits.perMinute,
        limits.perDay === Infinity ? -1 : limits.perDay,
        packed(bans),
        seen ? packedSeen(seen) : '',
        seen?.bannedUntilMs ?? 0,
        now(),
        owed ? packedOwed(owed) : '',
      )
      const decision = decisionFrom(answer, ask)
      // The decision stands whether or not this comes through: others meet the ban when they ask.
      if (decision.bans) void note(quota, key, decision.bannedUntilMs).catch(() => undefined)
      return decision
    },

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
      endings.add(end).add(() => beat.leave())
      if (breaker && listener.trouble) endings.add(breaker.onChange(listener.trouble))
      return end
    },

    close() {
      endings.forEach((end) => end())
      connection.disconnect()
      return Promise.resolve()
    },
  }
}

/** Hears of bans and lifts by publish and subscribe, and asks for the latest lift besides. */
function watchBans(
  connection: Connection,
  { lifts, channel }: { lifts: string; channel: string },
  { banned, forgiven }: BanListener,
): () => void {
  const subscriber = duplicate(connection)
  let seen: number | undefined
  subscriber.on('ready', () => void subscriber.subscribe(channel).catch(() => undefined))
  subscriber.on('message', (_channel: string, message: string) => {
    const told = message.split(' ')
    const [untilMs = NaN, key = '', quota = ''] = [
      Number(told[0]),
      told[1],
      told.slice(2).join(' '),
    ]
    if (message === '') forgiven()
    else if (Number.isSafeInteger(untilMs) && key !== '') banned({ key, quota, untilMs })
  })
  const look = async (): Promise<void> => {
    // The time of the latest lift. A Redis that has lost it has lifted nothing.
    const latest = Number((await connection.get(lifts)) ?? 0)
    if (seen !== undefined && latest > seen) forgiven()
    seen = Math.max(seen ?? 0, latest)
  }
  const tryLook = (): void => void look().catch(() => undefined)
  const timer = setInterval(tryLook, pollMs)
  timer.unref()
  // At once, so that a lift that comes right now is not taken for an old one.
  connection.on('ready', tryLook)
  if (connection.status === 'ready') tryLook()
  return () => {
    clearInterval(timer)
    connection.off('ready', tryLook)
    subscriber.disconnect()
  }
}

/** As the script keeps counters, so that in most cases it need only compare. */
function packedSeen(seen: Seen): string {
  const { minute, minuteUsed, day, dayUsed, dayGivenBack, generation } = seen
  return `${minute},${minuteUsed},${day},${dayUsed},${dayGivenBack},${generation}`
}

function packedOwed(owed: Owed): string {
  const { minute, minuteUsed, day, dayUsed, generation, by, number } = owed
  return [minute, minuteUsed, day, dayUsed, generation, by, number].join()
}

function decisionFrom(answer: unknown, { cost }: Ask): Decision {
  if (!Array.isArray(answer) || answer.length !== 11) throw new Error('Redis gave no decision')
  const [verdict, nowMs = 0, minute = 0, minuteUsed = 0, day = 0, dayUsed = 0, ...more] =
    answer.map(Number)
  const [dayGivenBack = 0, generation = 0, until = 0, strikes = 0, bans] = more
  const bannedUntilMs = until > nowMs ? until : 0
  return {
    verdict: verdicts[verdict ?? 1] ?? 'refused',
    nowMs,
    cost,
    minuteUsed,
    dayUsed: dayUsed - dayGivenBack,
    strikes,
    bannedUntilMs,
    bans: bans === 1,
    seen: { minute, minuteUsed, day, dayUsed, dayGivenBack, generation, bannedUntilMs },
  }
}
