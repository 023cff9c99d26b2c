import { randomUUID } from 'node:crypto'
import type { Connection } from './connect.ts'

/** The time between a gateway's heartbeats, and the silence after which it counts as gone. */
const beatMs = 1_000
const goneMs = 5_000

/** Counts the gateways of one Redis. Each sends heartbeats, timed by Redis' clock. */
export class Fleet {
  readonly #connection: Connection
  readonly #name: string
  readonly #id = randomUUID()
  readonly #timer: NodeJS.Timeout
  #size = 1
  #isLeaving = false

  constructor(connection: Connection, name: string) {
    this.#connection = connection
    this.#name = name
    const beat = (): void => void this.#beat().catch(() => undefined)
    this.#timer = setInterval(beat, beatMs)
    this.#timer.unref()
    if (connection.status === 'ready') beat()
    else connection.once('ready', beat)
  }

  /** The last known number; during an outage the number before it. */
  get size(): number {
    return this.#size
  }

  /** Removes this gateway, so that the others count without it at once. Waits for a silent Redis only `timeoutMs`. */
  async leave(timeoutMs: number): Promise<void> {
    clearInterval(this.#timer)
    this.#isLeaving = true
    const left = this.#connection.zrem(this.#name, this.#id).catch(() => undefined)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise((resolve) => (timer = setTimeout(resolve, timeoutMs)))
    await Promise.race([left, late])
    clearTimeout(timer)
  }

  async #beat(): Promise<void> {
    const [seconds, micros] = await this.#connection.time()
    const nowMs = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
    if (this.#isLeaving) return
    await this.#connection.zadd(this.#name, nowMs, this.#id)
    await this.#connection.zremrangebyscore(this.#name, '-inf', nowMs - goneMs)
    const count = await this.#connection.zcard(this.#name)
    if (Number.isSafeInteger(count) && count > 0) this.#size = count
  }
}
