import { completeSinceMs, minutesOf, type KeptDay } from './kept-days.ts'
import { presentOf, ranges, type LiveRange, type LiveRow, type Snapshot } from './snapshot.ts'
import { numbersOfRow, SumRows, sumsView, type SumsView } from '../../front/counts/sum-rows.ts'
import {
  mostRefusals,
  type Known,
  type LiveQuestion,
  type Figures,
  type LatestRefusal,
} from './figures.ts'

/** How long a gateway may be silent before a question leaves out what is known of it. */
const silentRounds = 60

/** The kept seconds: the last minute, and those that gateways may tell later or earlier than others. */
const lastSeconds = 120

/** One gateway in a view: how far its answers have come, and the difference of its seconds to ours. */
type Gateway = { known: Known; shift: number; figures?: Figures; round: number }

/** The place up to which a watcher has seen a view. */
export type Mark = Readonly<{ round: number; refusals: number; listed: number }>

/** The sums of a whole fleet, put together from the figures of its gateways, each second of each gateway once. */
export class LiveView {
  readonly #range: LiveRange
  readonly #seconds = new SumRows(lastSeconds)
  readonly #rows: SumRows
  readonly #gateways = new Map<string, Gateway>()
  /** The round in which each row has changed last. */
  readonly #changed: Uint32Array
  /** The latest refusals, and how many there were: those that are here, and all. */
  #refusals: readonly LatestRefusal[] = []
  /** The kept days of gateways that have ended, once they were read. */
  #days: readonly KeptDay[] | undefined
  #listed = 0
  #counted = 0
  #round = 0
  #asked = 0

  constructor(range: LiveRange) {
    this.#range = range
    this.#rows = new SumRows(ranges[range].rows)
    this.#changed = new Uint32Array(this.#rows.size)
  }

  /** Whether any gateway has answered. */
  get isBegun(): boolean {
    return this.#round > 0
  }

  get mark(): Mark {
    return { round: this.#round, refusals: this.#counted, listed: this.#listed }
  }

  /** The next question. Gateways that weren't asked before answer it with their last `seconds`. */
  question(seconds: number): LiveQuestion {
    const recent = [...this.#gateways].filter(([, { round }]) => this.#round - round < silentRounds)
    const known = Object.fromEntries(recent.map(([id, { known }]) => [id, known]))
    return { known, seconds, minutes: this.#range === 'day' }
  }

  /** Takes the answers to a question to `asked` gateways; `nowMs` is this gateway's own time. */
  take(answers: readonly Figures[], asked: number, nowMs: number): void {
    this.#round++
    this.#asked = Math.max(asked, answers.length)
    const news: LatestRefusal[] = []
    for (const figures of answers) {
      const before = this.#gateways.get(figures.id)
      const shift = before?.shift ?? Math.round((nowMs - figures.nowMs) / 1_000)
      const minutes = before || this.#range !== 'day' ? [] : figures.minutes
      for (const row of minutes) this.#addRow((row[0] ?? 0) + Math.round(shift / 60), row)
      for (const row of figures.seconds) {
        const [second = 0] = row
        if (before && second <= before.known.second) continue
        this.#seconds.add(second + shift, row, 1)
        // Those minutes have it already.
        if (minutes.length > 0) continue
        this.#addRow(Math.floor((second + shift) / ranges[this.#range].step), row)
      }
      this.#counted += before ? figures.refusal - before.known.refusal : figures.refusals.length
      news.push(...figures.refusals)
      const known = { second: figures.second, refusal: figures.refusal }
      this.#gateways.set(figures.id, { known, shift, figures, round: this.#round })
    }
    const latest = news.sort((a, b) => (a.time < b.time ? -1 : 1)).slice(-mostRefusals)
    this.#listed += latest.length
    this.#refusals = [...this.#refusals, ...latest].slice(-mostRefusals)
  }

  /** Takes the kept days of gateways that haven’t answered; one that does later goes on from its own. */
  takeDays(days: readonly KeptDay[]): void {
    this.#days = days
    for (const day of days) {
      for (const row of minutesOf(day)) this.#addRow(row[0] ?? 0, row)
      const known = { second: day.second, refusal: day.refusal }
      this.#gateways.set(day.id, { known, shift: 0, round: this.#round })
    }
  }

  /** The figures as they are; with a mark, only rows and refusals that came after it. Without `hasRange` it has no rows. */
  snapshot(nowMs: number, since: Mark | undefined, hasRange = true): Snapshot {
    const present = [...this.#gateways.values()].flatMap(({ round, figures, shift }) =>
      figures && round === this.#round ? { figures, shift } : [],
    )
    const figures = present.map(({ figures }) => figures)
    const begins = present.map(({ figures: { sinceMs }, shift }) => sinceMs + shift * 1_000)
    const days = this.#days?.filter(({ id }) => !this.#gateways.get(id)?.figures)
    const sinceMs = days ? completeSinceMs(begins, days) : Math.max(0, ...begins)
    const second = Math.floor(nowMs / 1_000)
    const refusals = this.#refusalsSince(since)
    return {
      time: new Date(nowMs).toISOString(),
      gateways: {
        asked: this.#asked,
        told: figures.length,
        names: figures.map(({ name }) => name).sort(),
      },
      lastMinute: sumsOf(this.#seconds, second - 60, second),
      ...presentOf(figures),
      refusals,
      refusalsLeftOut: since ? this.#counted - since.refusals - refusals.length : 0,
      range: hasRange
        ? {
            since: new Date(Math.min(sinceMs, nowMs)).toISOString(),
            ...this.#rangeSince(second, since?.round ?? 0),
          }
        : null,
    }
  }

  /** Adds the sums behind a number to a row of the range. */
  #addRow(number: number, sums: readonly number[]): void {
    const row = this.#rows.add(number, sums, 1)
    if (row >= 0) this.#changed[row] = this.#round
  }

  #refusalsSince(since: Mark | undefined): readonly LatestRefusal[] {
    const count = since ? this.#listed - since.listed : mostRefusals
    return count > 0 ? this.#refusals.slice(-count) : []
  }

  #rangeSince(second: number, round: number): Omit<NonNullable<Snapshot['range']>, 'since'> {
    const { step } = ranges[this.#range]
    const rows = this.#rows
    const last = Math.floor(second / step)
    const first = last - rows.size + 1
    const changed: LiveRow[] = []
    for (let number = first; number <= last; number++) {
      if ((this.#changed[number % rows.size] ?? 0) <= round) continue
      const values = new Float64Array(numbersOfRow)
      if (rows.addTo(values, number)) changed.push({ at: number * step, ...sumsView(values) })
    }
    return { name: this.#range, step, sums: sumsOf(rows, first, last + 1), rows: changed }
  }
}

/** The sums of the rows from one number to before another. */
function sumsOf(rows: SumRows, first: number, end: number): SumsView {
  const values = new Float64Array(numbersOfRow)
  for (let number = first; number < end; number++) rows.addTo(values, number)
  return sumsView(values)
}
