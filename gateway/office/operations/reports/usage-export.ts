import { rareFigures, type RareFigure } from '../../../front/counts/use.ts'
import { namedKeys } from '../../../front/keys/names.ts'
import type { KeyStore } from '../../../front/keys/store.ts'
import { inBatches } from '../../../../shared/in-order.ts'
import { dayMs, nextNumber, windowOf } from '../../../../shared/windows.ts'
import { ledgerBys, type LedgerBy, type LedgerLine } from '../../ledger/lines.ts'
import { csvPieces } from '../csv-pieces.ts'
import { ofText, oneOf } from '../kinds.ts'
import { Listed } from '../listed.ts'
import { operation, WrongInput } from '../operation.ts'
import { textOf, valueOf } from '../parameters.ts'
import { aligned } from '../table.ts'

/** A day, counted from 1970. */
const day = ofText('a day such as 2030-12-31', dayFrom)

type Days = Readonly<{ from?: number | undefined; to?: number | undefined }>

/** The days of a calendar month. */
const month = ofText('a month such as 2030-12', (text): Days | undefined => {
  const first = dayFrom(`${text}-01`)
  return first === undefined ? undefined : { from: first, to: lastDayOfMonth(first) }
})

const by = oneOf<LedgerBy>(ledgerBys)

/** The most lines that people are shown. */
const mostShown = 1_000

export const exportUsage = operation({
  name: 'usage export',
  at: ['GET /admin/ledger'],
  summary: 'Export the points of each account and key by day, for billing',
  details:
    'A line for each account, and for each key without one, on each day (UTC) that used it, with an id under which it is ' +
    'imported once. A day is final ten minutes after its end, and kept for 400 days. By key, an account has a line for ' +
    'each of its keys; by plan, a line is the sum of a plan. Of a KEY, lines are by key.',
  parameters: {
    from: valueOf(day, 'DAY', 'the first day; by default the last one'),
    to: valueOf(day, 'DAY', 'the last day; by default today'),
    month: valueOf(month, 'MONTH', 'all days of a calendar month (UTC)'),
    by: { ...valueOf(by, 'WHAT', 'what a line is about'), defaultText: 'account' },
    key: textOf('KEY', 'only lines of this key'),
    account: textOf('ACCOUNT', 'only lines of this account'),
  },
  role: 'read',
  takesLong: () => true,
  run: async ({ stores, desks, flush }, { by: asked, key, account, ...given }) => {
    const { from, to } = daysOf(given)
    const by = key !== undefined && asked === 'account' ? 'key' : asked
    if (key !== undefined && by === 'plan') throw new WrongInput(noPlan)
    await flush()
    // With zlib, which no other command needs.
    const { ledgerLines } = await import('../../ledger/ledger.ts')
    const { nowMs } = await stores().fleet.list()
    const toDay = to ?? Math.floor(nowMs / dayMs)
    const id = key === undefined ? undefined : (await desks().keys.find(key)).key.id
    const query = { fromDay: from ?? toDay, toDay, by, account, key: id }
    return withNames(ledgerLines(stores(), query, nowMs), stores().keys)
  },
  json: (lines) =>
    Listed.inOrder(lines, ({ estimated, beyond, ...line }) => ({
      ...line,
      // Few lines have any.
      estimated: estimated || undefined,
      included: line.points - beyond,
      beyond,
    })),
  csv: (lines) => csvPieces(columns, lines, rowOf),
  text: table,
})

const noPlan = 'of a key, lines are by key: leave out --by plan'

/** Lines whose names are read at a time. */
const linesAtOnce = 500

type NamedLine = LedgerLine & Readonly<{ names: readonly string[]; reference: string | undefined }>

/** Lines with the names of their keys as they are now, and their references, each once. */
async function* withNames(
  lines: AsyncIterable<LedgerLine>,
  keys: KeyStore,
): AsyncGenerator<NamedLine, void> {
  for await (const [some] of inBatches(lines, linesAtOnce)) {
    const found = await namedKeys(
      keys,
      some.flatMap((line) => line.keys),
    )
    yield* some.map((line) => {
      const its = line.keys.map((id) => found.get(id))
      const references = new Set(its.flatMap((key) => key?.reference ?? []))
      const reference = [...references].join(' ') || undefined
      return { ...line, names: its.map((key) => key?.name ?? ''), reference }
    })
  }
}

/** The days that are asked for; throws if they contradict each other. */
function daysOf({ from, to, month }: Days & Readonly<{ month: Days | undefined }>): Days {
  if (month && (from ?? to) !== undefined) {
    throw new WrongInput('--month is all days of a month: leave it out, or --from and --to')
  }
  if (from !== undefined && to !== undefined && to < from) {
    throw new WrongInput('--to must be a day from --from on')
  }
  return month ?? { from, to }
}

function dayFrom(text: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : NaN
  // Date.parse takes a 31st of February for a 3rd of March.
  const isDay = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
  return isDay ? ms / dayMs : undefined
}

function lastDayOfMonth(first: number): number {
  return nextNumber(windowOf('month'), first) - 1
}

const columns = [
  'id',
  'day',
  'account',
  'keys',
  'plan',
  'requests',
  'points',
  'refused',
  'final',
  'estimated',
  'included',
  'beyond',
  'names',
  'reference',
]

function rowOf(line: NamedLine): (string | number | boolean)[] {
  const { id, day, account, keys, plan, requests, points, refused, final, estimated, beyond } = line
  const about = [id, day, account ?? '', keys.join(' '), plan]
  const figures = [requests, points, refused, final, estimated, points - beyond, beyond]
  return [...about, ...figures, line.names.join('; '), line.reference ?? '']
}

async function table(lines: AsyncIterable<NamedLine>): Promise<string> {
  const shown: NamedLine[] = []
  let more = 0
  for await (const line of lines) {
    if (shown.length >= mostShown) more++
    else shown.push(line)
  }
  if (shown.length === 0) return 'No key was used.'
  const rare = rareFigures.filter((name) => shown.some((line) => line[name] !== 0))
  const rareHeads = rare.map((name) => name.toUpperCase())
  const heads = ['DAY', 'FOR', 'NAME', 'PLAN', 'REQUESTS', 'POINTS', ...rareHeads, 'REFUSED', '']
  const text = aligned([heads, ...shown.map((line) => shownRow(line, rare))])
  return more === 0 ? text : `${text}\nand ${more} more: --json or --csv prints all of them`
}

function shownRow(line: NamedLine, rare: readonly RareFigure[]): string[] {
  const { id, day, plan, requests, points, refused, final } = line
  const about = id.slice(day.length + 1)
  // An account says by itself whose it is.
  const name = about.startsWith('account:') && !about.includes(':key:') ? '' : line.names.join()
  const counts = [requests, points, ...rare.map((name) => line[name]), refused].map(String)
  return [day, about, name, plan, ...counts, final ? '' : 'not final yet']
}
