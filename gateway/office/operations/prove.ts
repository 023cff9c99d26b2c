import { withCommas } from '../../../shared/commas.ts'
import { spanText } from '../../../shared/units.ts'
import { windowOf, windows } from '../../../shared/windows.ts'
import type { Row } from '../prove/rows.ts'
import { WrongInput } from '../wrong-input.ts'
import { connectionCount, duration, oneOf, ofText, requestCount } from './kinds.ts'
import { ofTerminal } from './operation.ts'
import { argument, aSwitch, textOf, valueOf } from './parameters.ts'
import { aligned } from './table.ts'

const url = ofText('an http or https URL', (text) =>
  /^https?:\/\//.test(text) && URL.canParse(text) ? text : undefined,
)

const header = ofText('NAME: VALUE', (text): readonly [string, string] | undefined => {
  const [name = '', ...value] = text.split(':')
  return /^[\w-]+$/.test(name) && value.length > 0
    ? [name.toLowerCase(), value.join(':').trim()]
    : undefined
})

const measured = windows.filter(({ lengthMs }) => lengthMs !== undefined).map(({ name }) => name)

/** The most times that two windows are measured. */
const mostPasses = 8

export const prove = ofTerminal({
  name: 'prove',
  because: 'it asks any gateway as its callers do',
  summary: 'Measure how exactly any gateway keeps a limit, as its callers see it',
  details:
    'Sends GET with a key that nobody else uses, uses its limit up, and tells what it was let in: in a burst (burst), on both sides of a ' +
    'window’s edge (edge), behind a window with half the limit refused beyond it (burnt), exactly after Retry-After (waiting), and whether ' +
    'Limit, Remaining and Reset fall and agree (headers). What does not fit into the time is not tried. TOLLGATE_PROVE_KEY is sent as ' +
    'Authorization: Bearer.\n\n' +
    'Exit code 0: exact; 1: not exact; 2: wrong use, unreachable, or answers that are neither let in nor 429, such as those of a ban.',
  parameters: {
    url: { ...valueOf(url, 'URL', 'an address behind the gateway'), ...argument },
    limit: { ...valueOf(requestCount, 'N', 'the limit of the key'), isRequired: true },
    window: {
      ...valueOf(oneOf(measured), 'WINDOW', 'the window of the limit'),
      defaultText: 'minute',
    },
    connections: { ...valueOf(connectionCount, 'N', 'how many connections'), defaultText: '64' },
    for: valueOf(
      duration('30s or 3m'),
      'TIME',
      'the longest it goes on, by default 3m (for a second: 30s)',
    ),
    key: textOf('KEY', 'the key, in place of TOLLGATE_PROVE_KEY, which no list of processes shows'),
    header: {
      ...valueOf(header, 'HEADER', 'a header to send, for a key that goes otherwise'),
      many: true,
    },
    yes: aSwitch('do not ask'),
  },
  role: 'read',
  say: async (
    { url, limit, window, connections, key: given, header = [], yes, ...more },
    terminal,
  ) => {
    const { lengthMs: windowMs = 0, isBrief } = windowOf(window)
    const forMs = more.for ?? (isBrief ? 30_000 : 180_000)
    // Two windows each, behind the one that runs.
    const passes = Math.min(mostPasses, Math.max(1, Math.floor((forMs / windowMs - 1) / 2)))
    const mostRequests = passes * (9 * limit + 100)
    const plan =
      `It sends GET ${url} at most ${withCommas(mostRequests)} times within ${spanText(forMs)}, over ${connections} connections. ` +
      `The key’s limit is used up meanwhile, and its caller may be banned for what is refused.`
    await terminal.agree(plan, yes ?? false)
    const key = given ?? terminal.proveKey
    const headers = {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...Object.fromEntries(header),
    }
    // Loads undici, which few commands need.
    const { prove } = await import('../prove/prove.ts')
    const budget = { forMs, mostRequests, passes }
    const rows = await prove({ url, headers, limit, windowMs, connections, ...budget })
    const isTried = rows.some(({ verdict }) => verdict !== 'not tried')
    const isRefused = rows.some(({ verdict }) => verdict === 'not exact')
    const json = { url, limit, window, exact: isTried ? !isRefused : null, rows }
    if (isTried) return { json, isRefused, text: textFor(rows) }
    const error = new WrongInput(`nothing could be told of ${url}: give it more time by --for`)
    return { json, text: undefined, error }
  },
})

function textFor(rows: readonly Row[]): string {
  return aligned([
    ['ROW', 'RESULT', 'WHAT'],
    ...rows.map(({ row, verdict, what }) => [row, verdict, what]),
  ])
}
