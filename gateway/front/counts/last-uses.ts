import type { Clock } from '../../../shared/clock.ts'
import { stateOf, type Caller } from '../keys/caller.ts'
import { hashOfName } from '../keys/token.ts'
import { markOf, type LastUseStore, type TokenUse } from '../keys/last-use-store.ts'
import { countsOf, type LatestUse } from './caller-counts.ts'
import { Waiting } from './waiting.ts'

export type LastUsesOptions = Readonly<{ store: LastUseStore; clock: Clock }>

/**
 * Notes when tokens were used last. It is no fold over requests that have ended, because one that is open for days has
 * used its token when it began.
 */
export class LastUses extends Waiting<LatestUse, TokenUse> {
  readonly #options: LastUsesOptions
  /** Whether the store knows since when uses are noted. */
  #hasBegun = false

  constructor(options: LastUsesOptions) {
    const { store, clock } = options
    super({
      most: 100_000,
      batchSize: 250,
      take: useOf,
      add: ({ lines }) => store.note(lines, clock()),
      orderBy: ({ caller }) => caller.id,
    })
    this.#options = options
  }

  /** Notes a request of a caller, whatever it will be answered. */
  add(caller: Caller, nowMs: number): void {
    const counts = countsOf(caller)
    const use = (counts.use ??= { isWaiting: false, caller, atMs: nowMs })
    if (this.wait(use)) use.atMs = nowMs
  }

  override async write(): Promise<void> {
    const { store, clock } = this.#options
    if (!this.#hasBegun) await store.note([], clock())
    this.#hasBegun = true
    await super.write()
  }
}

function useOf({ caller, atMs }: LatestUse): TokenUse {
  const mark = markOf(hashOfName(stateOf(caller).token))
  return { key: caller.id, mark, atMs: Math.floor(atMs) }
}
