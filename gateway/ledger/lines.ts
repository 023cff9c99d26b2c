import { accountOf } from '../keys/key.ts'
import { dayText } from '../records/usage.ts'
import type { Figures, LedgerRow } from './rows.ts'

/** What a line of an export is about: an account or a key without one, each key, or a plan. */
export type LedgerBy = 'account' | 'key' | 'plan'

/** One line of an export. */
export type LedgerLine = Readonly<
  Figures & {
    /** The same in each export: the key under which a line is imported once. */
    id: string
    day: string
    /** `null` for a key without an account, and for a plan. */
    account: string | null
    keys: readonly string[]
    plan: string
    /** Whether it never changes any more. */
    final: boolean
  }
>

/** The lines of some rows of a day by account or by key, in the order of the rows. */
export function linesOf(
  rows: readonly LedgerRow[],
  by: Exclude<LedgerBy, 'plan'>,
  day: number,
  final: boolean,
): LedgerLine[] {
  return rows.flatMap((row) => {
    const line = { ...lineOf(row, day, final) }
    return by === 'account' || line.account === null ? [line] : linesOfKeys(row, line)
  })
}

function lineOf(row: LedgerRow, day: number, final: boolean): LedgerLine {
  const { quota, keys, plan, requests, points, refused } = row
  return {
    id: `${dayText(day)}:${quota}`,
    day: dayText(day),
    account: accountOf(quota) ?? null,
    keys: keys.map(({ key }) => key),
    ...{ plan, requests, points, refused, final },
  }
}

/** The keys of an account, and the rest of its points, which no gateway has lived to write down. */
function linesOfKeys({ keys, points: counted }: LedgerRow, line: LedgerLine): LedgerLine[] {
  const lines = keys.map(({ key, requests, points, refused }) => {
    return { ...line, id: `${line.id}:key:${key}`, keys: [key], requests, points, refused }
  })
  const rest = counted - keys.reduce((sum, { points }) => sum + points, 0)
  if (rest === 0) return lines
  const none = { keys: [], requests: 0, refused: 0 }
  return [...lines, { ...line, id: `${line.id}:rest`, ...none, points: rest }]
}

/** Sums of a day by plan. */
export class PlanSums {
  readonly #figures = new Map<string, Figures>()

  add(rows: readonly LedgerRow[]): void {
    for (const { plan, requests, points, refused } of rows) {
      let sum = this.#figures.get(plan)
      if (!sum) this.#figures.set(plan, (sum = { requests: 0, points: 0, refused: 0 }))
      sum.requests += requests
      sum.points += points
      sum.refused += refused
    }
  }

  lines(day: number, final: boolean): LedgerLine[] {
    const plans = [...this.#figures].sort(([a], [b]) => (a < b ? -1 : 1))
    return plans.map(([plan, figures]) => {
      const id = `${dayText(day)}:plan:${plan}`
      return { id, day: dayText(day), account: null, keys: [], plan, ...figures, final }
    })
  }
}
