import type { Clock } from '../../shared/clock.ts'
import { stateOf, type Caller } from '../keys/caller.ts'
import type { KeyDirectory } from '../keys/directory.ts'
import type { Quotas } from '../limits/quotas.ts'

/** How often it is looked whether callers with an open tunnel may still have it. */
const lookEveryMs = 250

/** A connection that has become a WebSocket, and whose it is. */
type Tunnel = Readonly<{ caller: Caller; cut: () => void }>

export type TunnelsOptions = Readonly<{
  directory: KeyDirectory
  quotas: Pick<Quotas, 'isBanned'>
  clock: Clock
}>

/** Ends WebSockets of keys that are revoked, disabled, expired or banned: no request of theirs comes to be refused. */
export class Tunnels {
  readonly #directory: KeyDirectory
  readonly #quotas: TunnelsOptions['quotas']
  readonly #clock: Clock
  readonly #open = new Set<Tunnel>()
  #timer: NodeJS.Timeout | undefined

  constructor({ directory, quotas, clock }: TunnelsOptions) {
    this.#directory = directory
    this.#quotas = quotas
    this.#clock = clock
  }

  /** Watches over a tunnel until what is given back is called. */
  watch(caller: Caller, cut: () => void): () => void {
    const tunnel = { caller, cut }
    this.#open.add(tunnel)
    this.#timer ??= setInterval(() => this.#look(), lookEveryMs).unref()
    return () => {
      this.#open.delete(tunnel)
      if (this.#open.size === 0) this.close()
    }
  }

  /** Ends those of a key that was banned; which bans run is not remembered for ever. */
  end(key: string): void {
    for (const { caller, cut } of this.#open) if (caller.id === key) cut()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    for (const tunnel of this.#open) void this.#lookAt(tunnel)
  }

  async #lookAt({ caller, cut }: Tunnel): Promise<void> {
    const { token } = stateOf(caller)
    // It is remembered while it is asked for here, so that changes of its key are heard.
    const found = this.#directory.recall(token) ?? (await this.#directory.look(token))
    if (found === 'unavailable') return
    const mayStay =
      found !== 'unknown' && found.isValidAt(this.#clock()) && !this.#quotas.isBanned(caller)
    if (!mayStay) cut()
  }
}
