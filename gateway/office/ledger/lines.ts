import { entryOf } from '../../../shared/entry-of.ts'
import { accountOf } from '../../front/keys/key.ts'
import { dayText } from '../../front/counts/usage.ts'
import {
  addFigures,
  figureNames,
  figuresOf,
  noFigures,
  type Figures,
  type LedgerRow,
} from './rows.ts'

/** The subject of a line: an account or a key without one, a key, or a plan. */
export const ledgerBys = ['account', 'key', 'plan'] as const

export type LedgerBy = (typeof ledgerBys)[number]

/** One line of an export. */
export type LedgerLine = Readonly<ReturnType<typeof lineOf>>

/** The lines of some rows of a day by account or key, in the order of the rows. */
export function linesOf(
  rows: readonly LedgerRow[],
  by: Exclude<LedgerBy, 'plan'>,
  day: number,
  final: boolean,
): LedgerLine[] {
  return rows.flatMap((row) => {
    const line = lineOf(row, day, final)
    return by === 'account' || line.account === null ? [line] : linesOfKeys(row, line)
  })
}

function lineOf(row: LedgerRow, day: number, final: boolean) {
  const { quota, keys, plan } = row
  return {
    /** The same in each export: the key under which a line is imported once. */
    id: `${dayText(day)}:${quota}`,
    day: dayText(day),
    /** `null` for a key without an account, and for a plan. */
    account: accountOf(quota) ?? null,
    keys: keys.map(({ key }) => key),
    plan,
    ...figuresOf(row),
    /** Whether it never changes any more. */
    final,
  }
}

/** Lines of the keys of an account, and one of the rest of its figures, which no gateway has lived to write down. */
function linesOfKeys({ keys }: LedgerRow, line: LedgerLine): LedgerLine[] {
  const rest = figuresOf(line)
  const lines = keys.map((of) => {
    for (const name of figureNames) rest[name] -= of[name]
    return { ...line, id: `${line.id}:key:${of.key}`, keys: [of.key], ...figuresOf(of) }
  })
  if (figureNames.every((name) => rest[name] === 0)) return lines
  return [...lines, { ...line, id: `${line.id}:rest`, keys: [], ...rest }]
}

/** Sums of a day by plan. */
export class PlanSums {
  readonly #figures = new Map<string, Figures>()

  /** Adds rows, which have no lines of their own. */
  add(rows: readonly LedgerRow[]): LedgerLine[] {
    for (const row of rows) addFigures(entryOf(this.#figures, row.plan, noFigures), row)
    return []
  }

  lines(day: number, final: boolean): LedgerLine[] {
    const plans = [...this.#figures].sort(([a], [b]) => (a < b ? -1 : 1))
    return plans.map(([plan, figures]) => {
      const id = `${dayText(day)}:plan:${plan}`
      return { id, day: dayText(day), account: null, keys: [], plan, ...figures, final }
    })
  }
}
