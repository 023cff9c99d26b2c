import { connect } from 'node:net'
import type { HealthSettings } from '../config/config.ts'
import type { Target } from './target.ts'

/** How long a check waits for its answer. */
const patienceMs = 2_000

/** How often a target that is out or under suspicion is looked at, if that is more often than others are. */
const soonMs = 500

/**
 * Looks at a target again and again until told to stop. Without a path to ask for, only a target that
 * is out is looked at: it is fit again when it can be connected to.
 */
export class HealthWatch {
  readonly #target: Target
  readonly #settings: HealthSettings
  readonly #isLast: () => boolean
  #timer: NodeJS.Timeout | undefined
  #lookedAtMs = -Infinity
  #isLooking = false
  #isSuspected = false
  #isStopped = false

  /** `isLast` says whether the target is the last of its upstream that can be asked. */
  constructor(target: Target, settings: HealthSettings, isLast: () => boolean) {
    this.#target = target
    this.#settings = settings
    this.#isLast = isLast
  }

  /** Plans the next look: soon, for a target that is out or may have to be. */
  plan(): void {
    if (this.#isStopped || this.#isLooking) return
    const { everyMs, path } = this.#settings
    const { isHealthy } = this.#target
    clearTimeout(this.#timer)
    if (isHealthy && path === undefined) return
    this.#lookIn(isHealthy && !this.#isSuspected ? everyMs : Math.min(everyMs, soonMs))
  }

  /**
   * Requests fail, and the reason may be the target or what was asked. A check that fails as well takes it out
   * at once if others are left; what is left last goes by failed checks alone. Without a path no check can tell:
   * then the target is taken out, unless it is the last.
   */
  suspect(cause: Error): void {
    const { path } = this.#settings
    if (path === undefined) {
      if (!this.#isLast()) this.#target.takeOut(cause)
      return
    }
    if (this.#isStopped || this.#isSuspected) return
    this.#isSuspected = true
    if (!this.#isLooking) this.#lookIn(this.#lookedAtMs + soonMs - performance.now())
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #lookIn(milliseconds: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#look(), Math.max(0, milliseconds))
    this.#timer.unref()
  }

  async #look(): Promise<void> {
    const { path } = this.#settings
    this.#isLooking = true
    // A look that began before there was a suspicion says nothing about it.
    const wasSuspected = this.#isSuspected
    const failure = await (path === undefined ? reach(this.#target) : ask(this.#target, path)).then(
      () => undefined,
      (error: unknown) => error as Error,
    )
    this.#isLooking = false
    this.#lookedAtMs = performance.now()
    if (this.#isStopped) return
    if (!failure) this.#isSuspected &&= !wasSuspected
    if (!failure) this.#target.passedCheck()
    else if (wasSuspected && !this.#isLast()) this.#target.takeOut(failure)
    else this.#target.failedCheck(failure)
    this.plan()
  }
}

async function ask(target: Target, path: string): Promise<void> {
  const signal = AbortSignal.timeout(patienceMs)
  const answer = await target.pool.request({ method: 'GET', path, signal })
  await answer.body.dump()
  if (answer.statusCode < 200 || answer.statusCode > 299) {
    throw new Error(`GET ${path} answered ${answer.statusCode}`)
  }
}

/** Rejects if a target can't be connected to. */
export function reach({ origin }: Pick<Target, 'origin'>): Promise<void> {
  const { hostname, port, protocol } = new URL(origin)
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (protocol === 'https:' ? 443 : 80),
      timeout: patienceMs,
    })
    const end = (settle: () => void) => () => {
      socket.destroy()
      settle()
    }
    socket.once('connect', end(resolve))
    socket.once(
      'timeout',
      end(() => reject(new Error(`${origin} can't be connected to`))),
    )
    socket.once('error', (error) => end(() => reject(error))())
  })
}
