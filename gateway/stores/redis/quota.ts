import type { Clock } from '../../../shared/clock.ts'
import type { Ask, BanRules, Decision, Owed, Seen } from '../../limits/step.ts'
import type { Ban, QuotaStore } from '../quota.ts'
import type { Breaker } from './breaker.ts'
import type { Connection } from './connect.ts'
import { Fleet } from './fleet.ts'
import { keyedScript } from './script.ts'
import { watchBans } from './watch-bans.ts'

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

  /** What is asked, and for whom. */
  function asked({ key, cost, limits, bans }: Ask): string {
    const perMinute = limits.perMinute === Infinity ? -1 : limits.perMinute
    const perDay = limits.perDay === Infinity ? -1 : limits.perDay
    return `${cost},${perMinute},${perDay},${packed(bans)};${key}`
  }

  function packed(bans: BanRules | undefined): string {
    if (!bans) return ''
    const known = rules.get(bans)
    if (known) return known
    const { strikes, withinMs, graceMs, forMs, factor, atMostMs, memoryMs } = bans
    const text = [strikes, withinMs, graceMs, forMs, factor, atMostMs, memoryMs].join()
    rules.set(bans, text)
    return text
  }

  /** What there is mostly nothing to say of. */
  function rarely({ seen, owed }: Ask): (string | number)[] {
    const bannedUntilMs = seen?.bannedUntilMs ?? 0
    if (bannedUntilMs === 0 && !owed && !testClock) return []
    return [bannedUntilMs, now(), owed ? packedOwed(owed) : '']
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
      const { seen } = ask
      const next = nextOf(ask)
      const answer = await run(
        hashOf(quota),
        seen ? packedSeen(seen) : '',
        next ? packedSeen(next) : '',
        next ? (next.minute + 1) * 60 : 0,
        asked(ask),
        ...rarely(ask),
      )
      const decision = decisionFrom(answer, ask, next)
      // The decision stands whether or not this comes through: others meet the ban when they ask.
      if (decision.bans) void note(quota, ask.key, decision.bannedUntilMs).catch(() => undefined)
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

/** As the script keeps counters, so that in most cases it need only compare. */
function packedSeen(seen: Seen): string {
  const { minute, minuteUsed, day, dayUsed, dayGivenBack, generation } = seen
  return `${minute},${minuteUsed},${day},${dayUsed},${dayGivenBack},${generation}`
}

function packedOwed(owed: Owed): string {
  const { minute, minuteUsed, day, dayUsed, generation, by, number } = owed
  return [minute, minuteUsed, day, dayUsed, generation, by, number].join()
}

/** What is seen next if a request is let in, and nobody else has been meanwhile; unless that can't be. */
function nextOf({ seen, cost, limits, owed }: Ask): Seen | undefined {
  if (!seen || owed || cost === 0 || seen.bannedUntilMs > 0) return undefined
  const { minute, day, dayGivenBack, generation, bannedUntilMs } = seen
  const minuteUsed = seen.minuteUsed + cost
  const dayUsed = seen.dayUsed + cost
  if (minuteUsed > limits.perMinute || dayUsed - dayGivenBack > limits.perDay) return undefined
  return { minute, minuteUsed, day, dayUsed, dayGivenBack, generation, bannedUntilMs }
}

function decisionFrom(answer: unknown, { cost }: Ask, next: Seen | undefined): Decision {
  const numbers = typeof answer === 'string' ? answer.split(',').map(Number) : []
  const [seconds = 0, micros = 0] = numbers
  const nowMs = seconds * 1_000 + Math.floor(micros / 1_000)
  const until = numbers[9] ?? 0
  const bannedUntilMs = until > nowMs ? until : 0
  const seen = numbers.length === 2 && next ? next : seenFrom(numbers, bannedUntilMs)
  return {
    verdict: verdicts[numbers[8] ?? 0] ?? 'refused',
    nowMs,
    cost,
    minuteUsed: seen.minuteUsed,
    dayUsed: seen.dayUsed - seen.dayGivenBack,
    strikes: numbers[10] ?? 0,
    bannedUntilMs,
    bans: numbers[11] === 1,
    seen,
  }
}

function seenFrom(numbers: readonly number[], bannedUntilMs: number): Seen {
  if (numbers.length !== 8 && numbers.length !== 12) throw new Error('Redis gave no decision')
  const [, , minute = 0, minuteUsed = 0, day = 0, dayUsed = 0, dayGivenBack = 0] = numbers
  const generation = numbers[7] ?? 0
  return { minute, minuteUsed, day, dayUsed, dayGivenBack, generation, bannedUntilMs }
}
