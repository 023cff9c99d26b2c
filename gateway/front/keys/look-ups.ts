import type { Caller } from './caller.ts'
import type { Denial } from './outside-callers.ts'
import { tokenName } from './token.ts'

/** Look-ups outside that are under way. Simultaneous ones of a token share the answer. */
export class LookUps {
  readonly #pending = new Map<string, Promise<Caller | Denial>>()

  /** The answer about a token, for which `look` is called if nobody else waits for it. */
  of(token: string, look: () => Promise<Caller | Denial>): Promise<Caller | Denial> {
    const name = tokenName(token)
    const pending = this.#pending.get(name)
    if (pending) return pending
    const lookUp = look().finally(() => this.#pending.delete(name))
    this.#pending.set(name, lookUp)
    return lookUp
  }
}
