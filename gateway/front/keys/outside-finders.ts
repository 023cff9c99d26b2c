import { Caller } from './caller.ts'
import type { Denial, OutsideFinder } from './outside-callers.ts'

/** Several finders as one: each is asked in turn, until one knows the caller, or can't say just now. */
export function oneOf(finders: readonly OutsideFinder[]): OutsideFinder | undefined {
  return finders.length > 1 ? new OutsideFinders(finders) : finders[0]
}

class OutsideFinders implements OutsideFinder {
  readonly longest: number
  readonly #finders: readonly OutsideFinder[]

  constructor(finders: readonly OutsideFinder[]) {
    this.#finders = finders
    this.longest = Math.max(...finders.map(({ longest }) => longest))
  }

  takes(token: string, isOver: boolean): boolean {
    return this.#finders.some((finder) => finder.takes(token, isOver))
  }

  async find(token: string, isOver: boolean): Promise<Caller | Denial> {
    let latest: Denial = { reason: 'unknown_token', isTemporary: false }
    for (const finder of this.#finders) {
      if (!finder.takes(token, isOver)) continue
      const result = await finder.find(token, isOver)
      if (result instanceof Caller || result.isTemporary) return result
      latest = result
    }
    return latest
  }
}
