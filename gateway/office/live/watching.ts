import type { FleetQuestions } from '../../front/fleet/questions.ts'
import type { FleetStore } from '../../front/fleet/store.ts'
import { keptSeconds } from '../../front/counts/live-sums.ts'
import type { LiveRange, Snapshot } from './snapshot.ts'
import { figuresFor, figuresFrom, liveKind, questionFrom, type FiguresOptions } from './figures.ts'
import type { KeptDays } from './kept-days.ts'
import { LiveView, type Mark } from './view.ts'

/** The seconds behind a snapshot without rows, and one more. */
const lastMinute = 61

/** The time after the end of a second at which the gateways are asked for it. */
const afterMs = 50

export type WatchingOptions = FiguresOptions &
  Readonly<{
    questions: FleetQuestions
    fleet: Pick<FleetStore, 'size'>
    days: Pick<KeptDays, 'without'>
    /** Called with the first of several faults in a row. Rounds go on. */
    failed: (error: unknown) => void
  }>

/**
 * Watches the whole fleet for whoever looks at this gateway: asks all gateways once a second, only while somebody watches.
 * A question says how far each gateway's answers have come, so that a lost one comes again and no second counts twice.
 */
export class Watching {
  readonly #options: WatchingOptions
  readonly #endAnswers: () => void
  readonly #rounds = new Map<LiveRange, Rounds>()

  constructor(options: WatchingOptions) {
    this.#options = options
    this.#endAnswers = options.questions.answer(liveKind, (about) => {
      const question = questionFrom(about)
      return question && figuresFor(question, options)
    })
  }

  /** The figures now; with the rows of a range, if one is named. */
  async snapshot(range: LiveRange | undefined): Promise<Snapshot> {
    const view = new LiveView(range ?? '15m')
    await this.#ask(view, range === '15m' ? keptSeconds : lastMinute)
    return view.snapshot(this.#nowMs(), undefined, range !== undefined)
  }

  /**
   * Watches until its end; `heard` is called when there is something to take. The first `take` gives everything that is
   * kept, later ones what is new.
   */
  watch(range: LiveRange, heard: () => void) {
    const rounds = this.#rounds.get(range) ?? this.#begin(range)
    const { view } = rounds
    let mark: Mark | undefined
    let round: number | undefined
    rounds.add(heard)
    return {
      take: () => {
        if (!view.isBegun || round === view.mark.round) return undefined
        const name = mark ? 'second' : 'past'
        const snapshot = view.snapshot(this.#nowMs(), mark)
        mark = view.mark
        round = mark.round
        return { name, snapshot }
      },
      end: () => {
        if (rounds.remove(heard) > 0) return
        if (this.#rounds.get(range) === rounds) this.#rounds.delete(range)
      },
    }
  }

  /** Calls all who watch without news, so that they see at once that the gateway stops. */
  wake(): void {
    for (const rounds of this.#rounds.values()) rounds.wake()
  }

  close(): void {
    this.#endAnswers()
    for (const rounds of this.#rounds.values()) rounds.stop()
    this.#rounds.clear()
  }

  #begin(range: LiveRange): Rounds {
    const view = new LiveView(range)
    const seconds = range === '15m' ? keptSeconds : lastMinute
    const { failed } = this.#options
    const ask = (): Promise<void> => this.#ask(view, seconds)
    const rounds = new Rounds({ view, ask, nowMs: this.#nowMs, failed })
    this.#rounds.set(range, rounds)
    return rounds
  }

  readonly #nowMs = (): number => this.#options.counts.sums.nowMs

  async #ask(view: LiveView, seconds: number): Promise<void> {
    const { questions, fleet, self } = this.#options
    const question = view.question(seconds)
    const expected = fleet.size
    let hasStore = true
    const answers = await questions
      .ask(liveKind, JSON.stringify(question), expected)
      .catch((): unknown[] => ((hasStore = false), []))
    const figures = answers.flatMap((answer) => figuresFrom(answer) ?? [])
    const byId = new Map(figures.map((each) => [each.id, each]))
    const { id } = self()
    if (!byId.has(id)) {
      // Without the store this gateway still knows of itself.
      const own = figuresFor(question, this.#options)
      byId.set(id, { ...own, isReachable: own.isReachable && hasStore })
    }
    // Without the store, the figures begin with the gateways that answer.
    const days =
      question.minutes && !view.isBegun
        ? await this.#options.days.without(byId).catch(() => undefined)
        : undefined
    view.take([...byId.values()], expected, this.#nowMs())
    if (days) view.takeDays(days)
  }
}

type RoundsOptions = Pick<WatchingOptions, 'failed'> &
  Readonly<{ view: LiveView; ask: () => Promise<void>; nowMs: () => number }>

/** Asks for a view once a second, as long as somebody watches. */
class Rounds {
  readonly view: LiveView
  readonly #options: RoundsOptions
  readonly #watchers = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #isFailing = false

  constructor(options: RoundsOptions) {
    this.#options = options
    this.view = options.view
    void this.#go()
  }

  add(heard: () => void): void {
    this.#watchers.add(heard)
  }

  /** Returns the number of watchers that are left; without any, it stops. */
  remove(heard: () => void): number {
    this.#watchers.delete(heard)
    if (this.#watchers.size === 0) this.stop()
    return this.#watchers.size
  }

  wake(): void {
    for (const heard of [...this.#watchers]) heard()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    this.#watchers.clear()
  }

  async #go(): Promise<void> {
    const { ask, nowMs, failed } = this.#options
    try {
      await ask()
      if (!this.#isStopped) this.wake()
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) failed(error)
      this.#isFailing = true
    }
    if (this.#isStopped) return
    const waitMs = 1_000 - (nowMs() % 1_000) + afterMs
    this.#timer = setTimeout(() => void this.#go(), waitMs).unref()
  }
}
