import type { LiveSums } from '../../front/counts/live-sums.ts'
import { numbersOfRow } from '../../front/counts/sum-rows.ts'
import type { Documents } from '../../front/shelves/documents.ts'
import { readerOf, Type, type Static } from '../../../shared/schema.ts'
import { dayMs } from '../../../shared/windows.ts'

/** The documents of gateways’ days, by the ids of their processes. */
const folder = 'live'

/** How often a gateway writes its day. */
export const everyMs = 300_000

/** How long a day of less than `everyMs` is kept: gateways that start again and again don’t fill the store. */
const keptShortMs = 3 * everyMs

const numbers = { minItems: numbersOfRow + 1, maxItems: numbersOfRow + 1 }

/** The day of one gateway process, for those that come after it. */
const day = Type.Object({
  /** The time since which it has counted, and the time of these figures. */
  ...{ sinceMs: Type.Number(), nowMs: Type.Number() },
  /** Whether it has counted everything: it was written at the end of the process. */
  hasEnded: Type.Boolean(),
  /** Its last second, and the number of its last refusal. */
  ...{ second: Type.Number(), refusal: Type.Number() },
  /** The sums of each five minutes, behind their number since 1970. */
  rows: Type.Array(Type.Array(Type.Number(), numbers), { maxItems: 289 }),
})
export type KeptDay = Static<typeof day> & Readonly<{ id: string }>

const dayFrom = readerOf(day)

export type KeptDaysOptions = Readonly<{
  documents: Documents
  id: string
  sums: LiveSums
  lastRefusal: () => number
}>

/** Keeps the day of this gateway in the store: from its start on, every five minutes, and at its end. */
export class KeptDays {
  readonly #options: KeptDaysOptions
  readonly #timer: NodeJS.Timeout
  #writing: Promise<void>

  constructor(options: KeptDaysOptions) {
    this.#options = options
    this.#writing = this.#write(false)
    this.#timer = setInterval(() => {
      this.#writing = this.#write(false)
    }, everyMs).unref()
  }

  /** The days of all gateways but those of `ids`. */
  async without(ids: ReadonlyMap<string, unknown>): Promise<readonly KeptDay[]> {
    const { documents } = await this.#options.documents.list(folder)
    return documents.flatMap(({ name, body }) => {
      const day = ids.has(name) ? undefined : dayFrom(body.toString())
      return day ? { ...day, id: name } : []
    })
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
    await this.#write(true)
  }

  async #write(hasEnded: boolean): Promise<void> {
    const { documents, id, sums, lastRefusal } = this.#options
    if (hasEnded) sums.end()
    const { sinceMs, nowMs } = sums
    const counted = { sinceMs, nowMs, hasEnded, second: sums.close(), refusal: lastRefusal() }
    const body = JSON.stringify({ ...counted, rows: byFive(sums.minutes()) })
    const keptMs = nowMs - sinceMs < everyMs ? keptShortMs : dayMs
    // Without the store: the next one has all of it.
    await documents.put(folder, id, body, { keptMs }).catch(() => false)
  }
}

/** The sums of each five minutes in rows of minutes. */
function byFive(minutes: readonly number[][]): number[][] {
  const byNumber = Map.groupBy(minutes, ([minute = 0]) => Math.floor(minute / 5))
  return [...byNumber].map(([five, rows]) => {
    const sums = rows.reduce((sum, row) => sum.map((value, i) => value + (row[i] ?? 0)))
    return [five, ...sums.slice(1)]
  })
}

/** The rows of a kept day by minutes: the sums of five minutes are spread evenly over those of them that were counted. */
export function* minutesOf({ rows, second }: KeptDay): Generator<number[]> {
  for (const [five = 0, ...sums] of rows) {
    const counted = Math.min(5, Math.floor(second / 60) - five * 5 + 1)
    for (let i = 0; i < counted; i++) {
      const upTo = (value: number, minutes: number) => Math.floor((value * minutes) / counted)
      yield [five * 5 + i, ...sums.map((value) => upTo(value, i + 1) - upTo(value, i))]
    }
  }
}

/**
 * The time since which no figures are missing: since the first of these processes began, but for the five minutes after the
 * last figures of one that didn’t end by itself.
 */
export function completeSinceMs(begins: readonly number[], days: readonly KeptDay[]): number {
  const first = Math.min(...begins, ...days.map(({ sinceMs }) => sinceMs))
  const broken = days.filter(({ hasEnded }) => !hasEnded).map(({ nowMs }) => nowMs + everyMs)
  return Math.max(first, ...broken)
}
