import { accountOf } from '../../front/keys/key.ts'
import { dayText } from '../../front/counts/usage.ts'
import type { Figures, LedgerRow } from './rows.ts'

/** The subject of a line: an account or a key without one, a key, a route of one of these, or a plan. */
export const ledgerBys = ['account', 'key', 'route', 'plan'] as const

export type LedgerBy = (typeof ledgerBys)[number]

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

/** The lines of some rows of a day by account, key or route, in the order of the rows. */
export function linesOf(
  rows: readonly LedgerRow[],
  by: Exclude<LedgerBy, 'plan'>,
  day: number,
  final: boolean,
): LedgerLine[] {
  return rows.flatMap((row) => {
    const line = lineOf(row, day, final)
    if (by === 'route') return linesOfRoutes(row, line)
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
    plan,
    requests,
    points,
    refused,
    final,
  }
}

function linesOfKeys({ keys }: LedgerRow, line: LedgerLine): LedgerLine[] {
  const lines = keys.map(({ key, requests, points, refused }) => {
    return { ...line, id: `${line.id}:key:${key}`, keys: [key], requests, points, refused }
  })
  return withRest(lines, line)
}

/** The routes of an account, or of a key without one. Nobody has counted which keys of an account used a route. */
function linesOfRoutes({ routes }: LedgerRow, line: LedgerLine): LedgerLine[] {
  const keys = line.account === null ? line.keys : []
  const lines = routes.map(({ route, requests, points, refused }) => {
    return { ...line, id: `${line.id}:route:${route}`, keys, requests, points, refused }
  })
  return withRest(lines, line)
}

/** Parts of a line, and the rest of its figures, which no gateway has lived to write down. */
function withRest(parts: readonly LedgerLine[], line: LedgerLine): LedgerLine[] {
  const restOf = (figure: keyof Figures): number =>
    line[figure] - parts.reduce((sum, part) => sum + part[figure], 0)
  const [requests, points, refused] = [restOf('requests'), restOf('points'), restOf('refused')]
  if (requests === 0 && points === 0 && refused === 0) return [...parts]
  return [...parts, { ...line, id: `${line.id}:rest`, keys: [], requests, points, refused }]
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
