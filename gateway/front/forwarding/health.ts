import { once } from 'node:events'
import { connect, type NetConnectOpts } from 'node:net'
import { socketPathOf } from '../../../shared/unix-socket.ts'
import type { HealthSettings } from '../config/config.ts'
import type { Target } from './target.ts'

/** The time limit of a check. */
const checkTimeoutMs = 2_000

/** The bytes of an answer to a check that are read. */
const mostRead = 131_072

/** The longest time between checks of a target that is out or suspected. */
const soonMs = 500

/**
 * Checks a target repeatedly until stopped. Without a path only a target that is out is checked: it is healthy
 * again when it accepts a connection.
 */
export class HealthWatch {
  readonly #target: Target
  readonly #settings: HealthSettings
  readonly #isLast: () => boolean
  #timer: NodeJS.Timeout | undefined
  #checkedAtMs = -Infinity
  #isChecking = false
  #isSuspected = false
  #isStopped = false

  /** `isLast` tells whether the target is the last healthy one of its upstream. */
  constructor(target: Target, settings: HealthSettings, isLast: () => boolean) {
    this.#target = target
    this.#settings = settings
    this.#isLast = isLast
  }

  /** Schedules the next check: soon for a target that is out or suspected. */
  schedule(): void {
    if (this.#isStopped || this.#isChecking) return
    const { everyMs, path } = this.#settings
    const { isHealthy } = this.#target
    clearTimeout(this.#timer)
    if (isHealthy && path === undefined) return
    this.#checkIn(isHealthy && !this.#isSuspected ? everyMs : Math.min(everyMs, soonMs))
  }

  /**
   * Called when requests fail, because of the target or because of the requests. If a check fails as well, the
   * target is out at once, unless it is the last healthy one: that goes out by failed checks alone. Without a
   * path no check can tell, so the target is out, unless it is the last.
   */
  suspect(cause: Error): void {
    const { path } = this.#settings
    if (path === undefined) {
      if (!this.#isLast()) this.#target.takeOut(cause)
      return
    }
    if (this.#isStopped || this.#isSuspected) return
    this.#isSuspected = true
    if (!this.#isChecking) this.#checkIn(this.#checkedAtMs + soonMs - performance.now())
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #checkIn(milliseconds: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#check(), Math.max(0, milliseconds)).unref()
  }

  async #check(): Promise<void> {
    const { path } = this.#settings
    this.#isChecking = true
    // A check that began before the suspicion can't clear it.
    const wasSuspected = this.#isSuspected
    const failure = await (path === undefined ? reach(this.#target) : ask(this.#target, path)).then(
      () => undefined,
      (error: unknown) => error as Error,
    )
    this.#isChecking = false
    this.#checkedAtMs = performance.now()
    if (this.#isStopped) return
    if (!failure) this.#isSuspected &&= !wasSuspected
    if (!failure) this.#target.passedCheck()
    else if (wasSuspected && !this.#isLast()) this.#target.takeOut(failure)
    else this.#target.failedCheck(failure)
    this.schedule()
  }
}

async function ask(target: Target, path: string): Promise<void> {
  const signal = AbortSignal.timeout(checkTimeoutMs)
  const { host: servername, headers = null } = target
  const options = { method: 'GET', path, headers, signal, servername } as const
  const answer = await target.pool.request(options)
  await answer.body.dump({ limit: mostRead, signal })
  if (answer.statusCode < 200 || answer.statusCode > 299) {
    throw new Error(`GET ${path} answered ${answer.statusCode}`)
  }
}

/** Rejects if a target can't be connected to. */
export async function reach({ origin }: Pick<Target, 'origin'>): Promise<void> {
  const socket = connect({ ...placeOf(origin), timeout: checkTimeoutMs })
  socket.once('timeout', () => socket.destroy(new Error(`${origin} can't be connected to`)))
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}

function placeOf(origin: string): NetConnectOpts {
  const path = socketPathOf(origin)
  if (path !== undefined) return { path }
  const { hostname, port, protocol } = new URL(origin)
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
  }
}
