import { connect } from 'node:net'
import type { HealthSettings } from '../config/config.ts'
import type { Target } from './target.ts'

/** How long a check waits for its answer. */
const patienceMs = 2_000

/** How often a target that is out is looked at, if that is more often than others are. */
const outEveryMs = 500

/**
 * Looks at a target again and again until told to stop. Without a path to ask for, only a target that
 * is out is looked at: it is fit again when it can be connected to.
 */
export class HealthWatch {
  readonly #target: Target
  readonly #settings: HealthSettings
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(target: Target, settings: HealthSettings) {
    this.#target = target
    this.#settings = settings
  }

  /** Plans the next look: soon, for a target that is out. */
  plan(): void {
    if (this.#isStopped) return
    const { everyMs, path } = this.#settings
    const { isHealthy } = this.#target
    clearTimeout(this.#timer)
    if (isHealthy && path === undefined) return
    this.#timer = setTimeout(
      () => void this.#look(),
      isHealthy ? everyMs : Math.min(everyMs, outEveryMs),
    )
    this.#timer.unref()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    const { path } = this.#settings
    try {
      await (path === undefined ? reach(this.#target) : ask(this.#target, path))
      if (!this.#isStopped) this.#target.passedCheck()
    } catch (error) {
      if (!this.#isStopped) this.#target.failedCheck(error as Error)
    }
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
