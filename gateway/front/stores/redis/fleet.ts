import { within } from '../../../../shared/within.ts'
import type { Clock } from '../../../../shared/clock.ts'
import { readerOf, timeSchema, Type } from '../../../../shared/schema.ts'
import {
  differMs,
  goneMs,
  type FleetNews,
  type FleetState,
  type FleetStore,
  type Member,
  type SeenMember,
} from '../../fleet/store.ts'
import { answerOf } from './answer.ts'
import type { Connection } from './connect.ts'
import { keyedScript, script, type RedisOptions, type Script } from './script.ts'

/** The time between two beats of a gateway. */
const beatMs = 1_000

/** The time limit of a beat. Nobody waits for it. */
const beatTimeoutMs = 2_000

/** The most gateways that are listed; others are counted. */
const mostLines = 1_000

/** How long a fleet without any beat is remembered. */
const keptMs = 60_000

/** Differences of clocks below this come from the way to Redis, and change no time that was told. */
const clockNoiseMs = 250

export type RedisFleetOptions = RedisOptions & Readonly<{ clock?: Clock | undefined }>

/** The gateways of one Redis, and for tests a beat of all that have joined here. */
export type RedisFleet = FleetStore & Readonly<{ beat: () => Promise<void> }>

type Names = Readonly<{ all: string; beats: string; lines: string; state: string }>

/**
 * The gateways of one Redis. Each beats by Redis' clock, with a line about itself. All names share one slot of
 * a Cluster but the set `gateways`, which is read by itself.
 */
export function redisFleet(options: RedisFleetOptions): RedisFleet {
  const { connection, prefix, timeoutMs, clock = Date.now, testClock } = options
  const name = (what: string): string => `${prefix}{fleet}:${what}`
  const [beats, lines, state] = [name('beats'), name('lines'), name('state')]
  const names: Names = { all: `${prefix}gateways`, beats, lines, state }
  const beat = script({ connection, timeoutMs: beatTimeoutMs, file: 'fleet-beat.lua' }, [
    beats,
    lines,
    state,
  ])
  const bounds = [goneMs, differMs, mostLines, keptMs]
  const step: Script = (id = '', line = '') =>
    beat(id, line, ...bounds, testClock === undefined ? '' : testClock())
  const pulses = new Set<Pulse>()
  const settle = keyedScript({ connection, timeoutMs, file: 'fleet-lease.lua' })

  return {
    get size() {
      return Math.max(1, ...[...pulses].map(({ size }) => size))
    },

    get configs() {
      return Math.max(0, ...[...pulses].map(({ configs }) => configs))
    },

    join(self, heard) {
      const pulse = new Pulse({ connection, names, step, clock, self, heard })
      pulses.add(pulse)
      return () => {
        pulses.delete(pulse)
        return pulse.leave(timeoutMs)
      }
    },

    list: () => listIn(connection, names, step),

    async take(lease, holder, about) {
      const other = String(await settle(name(`lease:${lease}`), holder, about, goneMs))
      return other === '' ? undefined : other
    },

    async leave(lease, holder) {
      await settle(name(`lease:${lease}`), holder, '')
    },

    async beat() {
      for (const pulse of pulses) await pulse.beat()
    },

    async close() {
      await Promise.all([...pulses].map((pulse) => pulse.leave(timeoutMs)))
      pulses.clear()
    },
  }
}

type PulseOptions = Readonly<{
  connection: Connection
  names: Names
  step: Script
  clock: Clock
  self: () => Member
  heard: (news: FleetNews) => void
}>

/** The beats of one gateway. */
class Pulse {
  readonly #options: PulseOptions
  readonly #id: string
  readonly #timer: NodeJS.Timeout
  /** Redis' clock minus ours; `undefined` before the first answer. */
  #offsetMs: number | undefined
  /** The difference of configurations that this gateway has reported. */
  #reported: string | undefined
  #beating: Promise<void> | undefined
  #isLeaving = false
  size = 1
  configs = 0

  constructor(options: PulseOptions) {
    const { connection, self } = options
    this.#options = options
    this.#id = self().id
    const tryBeat = (): void => {
      if (!this.#beating) this.beat().catch(() => undefined)
    }
    this.#timer = setInterval(tryBeat, beatMs)
    this.#timer.unref()
    if (connection.status === 'ready') tryBeat()
    else connection.once('ready', tryBeat)
  }

  /** Beats once, after a beat that is under way. */
  async beat(): Promise<void> {
    await this.#beating?.catch(() => undefined)
    this.#beating = this.#beat()
    try {
      await this.#beating
    } finally {
      this.#beating = undefined
    }
  }

  async #beat(): Promise<void> {
    if (this.#isLeaving) return
    const { step } = this.#options
    if (this.#offsetMs === undefined) this.#setClock((await this.#answer(step()))[0])
    const [nowMs, configs, news] = await this.#answer(step(this.#id, this.#line()))
    this.#setClock(nowMs)
    this.configs = configs
    this.#hear(news)
    await this.#countIn(nowMs)
  }

  /** Leaves, so that the others count without this gateway at once. Waits for a silent Redis only `timeoutMs`. */
  async leave(timeoutMs: number): Promise<void> {
    clearInterval(this.#timer)
    this.#isLeaving = true
    const { connection, names, step } = this.#options
    const left = Promise.all([connection.zrem(names.all, this.#id), step(this.#id, '')])
    await within(
      timeoutMs,
      left.catch(() => undefined),
    )
  }

  async #answer(reply: Promise<unknown>): Promise<[nowMs: number, configs: number, news: string]> {
    const [nowMs, configs, news] = (await reply) as [unknown, unknown, unknown]
    return [Number(nowMs), Number(configs), String(news)]
  }

  #setClock(nowMs: number): void {
    const offsetMs = nowMs - this.#options.clock()
    const before = this.#offsetMs ?? Infinity
    if (Math.abs(offsetMs - before) >= clockNoiseMs) this.#offsetMs = offsetMs
  }

  /** The line about this gateway, with times by Redis' clock, after the hash by which configurations are compared. */
  #line(): string {
    const offsetMs = this.#offsetMs ?? 0
    const { config, ...self } = this.#options.self()
    const line = {
      ...self,
      sinceMs: self.sinceMs + offsetMs,
      config: config && { ...config, sinceMs: config.sinceMs + offsetMs },
    }
    return `${config?.sharedHash ?? ''} ${JSON.stringify(line)}`
  }

  #hear(news: string): void {
    if (news === '' || news === this.#reported) return
    this.#reported = news === 'agree' ? undefined : news
    this.#options.heard(news === 'agree' ? 'agree' : 'differ')
  }

  /** Beats in the set that gateways of every version write, and counts them. */
  async #countIn(nowMs: number): Promise<void> {
    if (this.#isLeaving) return
    const { connection, names } = this.#options
    const [, , count] = await Promise.all([
      connection.zadd(names.all, nowMs, this.#id),
      connection.zremrangebyscore(names.all, '-inf', String(nowMs - goneMs)),
      connection.zcard(names.all),
    ])
    if (Number.isSafeInteger(count) && count > 0) this.size = count
  }
}

async function listIn(connection: Connection, names: Names, step: Script): Promise<FleetState> {
  const [time] = (await step()) as [unknown]
  const nowMs = Number(time)
  const [lines, scores, everybody, differSince] = await Promise.all([
    answerOf(connection.hgetall(names.lines)),
    answerOf(connection.zrange(names.beats, '0', '-1', 'WITHSCORES')),
    answerOf(connection.zrangebyscore(names.all, String(nowMs - goneMs), '+inf')),
    answerOf(connection.hget(names.state, 'differSince')),
  ])
  const seenAt = new Map<string, number>()
  for (let i = 0; i + 1 < scores.length; i += 2) seenAt.set(scores[i] ?? '', Number(scores[i + 1]))
  const members = [...seenAt].flatMap(([id, seenAtMs]) => memberFrom(lines[id], seenAtMs))
  const listed = new Set(members.map(({ id }) => id))
  const silent = everybody.filter((id) => !listed.has(id)).length
  const differSinceMs = differSince === null ? undefined : Number(differSince)
  return { nowMs, members, silent, differSinceMs }
}

const text = Type.String()
const memberOf: (line: string) => Member | undefined = readerOf(
  Type.Object({
    id: text,
    name: text,
    host: text,
    pid: Type.Optional(Type.Number()),
    worker: Type.Optional(Type.Number()),
    version: text,
    sinceMs: timeSchema,
    config: Type.Optional(
      Type.Object({
        hash: text,
        sharedHash: text,
        sinceMs: timeSchema,
        refusal: Type.Optional(text),
      }),
    ),
    store: text,
    address: Type.Optional(text),
  }),
)

/** The gateway of a line; none if another version wrote it in a form that this one can't read. */
function memberFrom(line = '', seenAtMs: number): SeenMember[] {
  const member = memberOf(line.slice(line.indexOf(' ') + 1))
  return member ? [{ ...member, seenAtMs }] : []
}
