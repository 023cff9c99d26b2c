import type { Clock } from '../../../shared/clock.ts'
import type { Caller } from '../keys/caller.ts'
import type { KeyDirectory } from '../keys/directory.ts'
import type { Quotas } from '../limits/quotas.ts'

/** The time between two checks of all tunnels' callers. */
const checkEveryMs = 250

/** A WebSocket and its caller. */
type Tunnel = Readonly<{ caller: Caller; cut: () => void }>

export type TunnelsOptions = Readonly<{
  directory: KeyDirectory
  quotas: Pick<Quotas, 'isBanned'>
  clock: Clock
}>

/** Ends the WebSockets of keys that are revoked, disabled, expired or banned, because no further request is refused. */
export class Tunnels {
  readonly #options: TunnelsOptions
  readonly #open = new Set<Tunnel>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: TunnelsOptions) {
    this.#options = options
  }

  /** Watches a tunnel until the returned function is called. */
  watch(caller: Caller, cut: () => void): () => void {
    const tunnel = { caller, cut }
    this.#open.add(tunnel)
    this.#timer ??= setInterval(() => this.#checkAll(), checkEveryMs).unref()
    return () => {
      this.#open.delete(tunnel)
      if (this.#open.size === 0) this.close()
    }
  }

  /** Ends the tunnels of a key at its ban, which may be forgotten before the next check. */
  end(key: string): void {
    for (const { caller, cut } of this.#open) if (caller.id === key) cut()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #checkAll(): void {
    for (const tunnel of this.#open) void this.#check(tunnel)
  }

  async #check({ caller, cut }: Tunnel): Promise<void> {
    const { directory, quotas, clock } = this.#options
    const current = await directory.current(caller)
    if (current === 'unavailable') return
    const mayStay = current !== 'unknown' && current.isValidAt(clock()) && !quotas.isBanned(caller)
    if (!mayStay) cut()
  }
}
