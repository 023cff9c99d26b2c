import type { Limits } from '../front/limits/limits.ts'
import type { BanRules } from '../front/limits/conduct.ts'
import type { Ask, Decision } from '../front/limits/step.ts'
import { withUsed, type Used } from './counters.ts'
import type { QuotaPoints } from '../front/limits/past-points.ts'
import type { QuotaStore } from '../front/limits/store.ts'

/** A store of quotas with a clock that tests move, and a way to forget all that is in its process's memory. */
export type MovableQuotas = Readonly<{
  store: QuotaStore
  /** Sets the time of the store. */
  setTime: (ms: number) => void
  /** Restarts the gateway: opens the same store again. */
  reopen: () => Promise<QuotaStore>
  close: () => Promise<void>
}>

/** Declares a test. */
export type Declare = (name: string, run: () => Promise<void>) => void

/** The noon at which each part of the contract begins. */
export const start = Date.UTC(2026, 5, 15, 12, 0, 0)

/** The rules of bans in the contract. */
export const rules: BanRules = {
  strikes: 3,
  withinMs: 60_000,
  graceMs: 1_000,
  forMs: 300_000,
  factor: 2,
  atMostMs: 1_000_000,
  memoryMs: 3_600_000,
}

/** The limits of who asks without any of its own. */
export const limits: Limits = { perMinute: 3, perDay: 5 }

/** The store under test, as all parts of the contract use it: each test has one of its own. */
export class TriedStore {
  #opened: MovableQuotas | undefined
  #store: QuotaStore | undefined
  #names = 0
  #last: Promise<unknown> = Promise.resolve()

  get store(): QuotaStore {
    if (!this.#store) throw new Error('only a test has a store')
    return this.#store
  }

  /** Runs a test with a store that it opens. One goes on when the one before is over. */
  during(open: () => Promise<MovableQuotas>, run: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(async () => {
      const opened = (this.#opened = await open())
      this.#store = opened.store
      await run().finally(() => opened.close())
    })
    this.#last = turn.catch(() => undefined)
    return turn
  }

  readonly setTime = (ms: number): void => this.#opened?.setTime(ms)

  /** Goes on with the same store, opened again. */
  readonly reopen = async (): Promise<void> => void (this.#store = await this.#opened?.reopen())

  /** The name of a quota that nobody has used. */
  readonly newName = (): string => `q${++this.#names}`

  readonly ask = async (quota: string, more: Partial<Ask> = {}): Promise<Decision & Used> =>
    withUsed(await this.store.decide(quota, { key: 'k', cost: 1, limits, ...more }))

  /** Asks one after the other, and gives the verdicts in one line. */
  readonly verdicts = async (quota: string, times: number, more: Partial<Ask> = {}) => {
    const all: string[] = []
    for (let i = 0; i < times; i++) all.push((await this.ask(quota, more)).verdict)
    return all.join(' ')
  }

  /** The points of a quota on a day. */
  readonly pointsOf = async (quota: string, day: number): Promise<number> =>
    (await this.usedOn(quota, day)).points

  /** The points of a quota on a day, and those that weren't included. */
  readonly usedOn = async (quota: string, day: number): Promise<Required<QuotaPoints>> => {
    let found: QuotaPoints = { quota, points: 0 }
    for await (const some of this.store.points(day)) {
      for (const each of some) if (each.quota === quota) found = each
    }
    return { beyond: 0, ...found }
  }
}
