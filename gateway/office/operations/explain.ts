import { KeyMistake } from '../../front/keys/mistake.ts'
import type { Key } from '../../front/keys/key.ts'
import type { ResolvedKey } from '../../front/keys/reference.ts'
import type { FoundRefusals } from '../explain/refusals-of.ts'
import { dayMs, minuteMs } from '../../../shared/windows.ts'
import type { Context } from './context.ts'
import { tokenWarning } from './keys/texts.ts'
import { timelineOf, timelineText, type KeyTimeline } from './keys/timeline.ts'
import { past, timelineDays, type TimeAt } from './kinds.ts'
import { argument, textOf, valueOf } from './parameters.ts'
import { ofCommandLine, WrongInput } from './operation.ts'
import { nothingText, requestsText } from './requests/show.ts'

/** The days that are kept. */
const mostDays = 7

/** Around `--at`, this much of the timeline is shown. */
const aroundMs = 30 * minuteMs

export const explain = ofCommandLine({
  name: 'explain',
  because: 'it finds out what the id is of; the admin API has a path for requests and one for keys',
  summary: 'Say why a request was refused, or how a key stands and what was refused lately',
  details:
    'WHAT is the X-Request-Id of an answer, or a key: its id, its name, or one of its tokens. A request is looked for ' +
    'in all gateways, a key in the store.',
  parameters: {
    what: { ...textOf('WHAT', 'the id of a request, or a key'), ...argument },
    at: valueOf(past, 'TIME', 'of a key: the half hours before and after this time'),
    days: valueOf(timelineDays, 'N', 'of a key: how many days back; 7 without it and without --at'),
  },
  role: 'read',
  run: explanationOf,
  json: explanationJson,
  text: ({ requests, timeline, warning }: Found, { clock }) => {
    const texts = [
      requests && requestsText(requests, clock()),
      timeline && timelineText(timeline),
      warning && `Note: ${warning}`,
    ]
    return texts.filter(Boolean).join('\n\n')
  },
})

/** Finds what an id is of, and explains that. */
export async function explanationOf(
  context: Context,
  { what, at: timeAt, days }: Asked,
): Promise<Found> {
  const now = context.clock()
  const at = timeAt?.(now)
  requireTime(now, at, days)
  const lookUp = await keyOf(context, what)
  const { key, byToken } = lookUp
  // A token is no id of a request, and isn't shown around.
  const requests = byToken ? { why: '' } : await requestsOf(context, what)
  const isRequest = 'answers' in requests && requests.answers.length > 0
  if (isRequest && key) throw new KeyMistake(ambiguousText(what, requests, key), 'conflict')
  if (isRequest) return { requests }
  if (!key) {
    const why = 'why' in requests ? requests.why : nothingText(what, requests)
    throw new KeyMistake(`${lookUp.why}; and ${why}`, 'not_found')
  }
  const [from, to] =
    at === undefined
      ? [now - (days ?? mostDays) * dayMs, now]
      : [at - aroundMs, Math.min(now, at + aroundMs)]
  const timeline = await timelineOf(context, key, from, to)
  return {
    timeline,
    warning: byToken ? `${tokenWarning(key)}. keys find reads a token safely.` : undefined,
  }
}

/** An explanation for programs: of a request, or of a key. */
export function explanationJson({ requests, timeline }: Found) {
  return requests ?? timeline
}

/** Throws if a time was asked for that can't be told of. */
function requireTime(nowMs: number, at: number | undefined, days: number | undefined): void {
  if (at === undefined) return
  if (days !== undefined) throw new WrongInput('--at and --days contradict each other')
  if (at > nowMs) throw new WrongInput('--at is in the future')
  if (at < nowMs - mostDays * dayMs)
    throw new WrongInput('--at is longer ago than the 7 days that are kept')
}

type Asked = Readonly<{ what: string; at?: TimeAt | undefined; days?: number | undefined }>

type Found = Readonly<
  | { requests: FoundRefusals; timeline?: undefined; warning?: undefined }
  | { requests?: undefined; timeline: KeyTimeline; warning: string | undefined }
>

type Unknown = Readonly<{ why: string }>

/** The refusals with an id, or why they can't be looked for. A key must be explained even if no gateway runs. */
async function requestsOf({ refusalsOf }: Context, id: string): Promise<FoundRefusals | Unknown> {
  try {
    return await refusalsOf(id)
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) }
  }
}

async function keyOf(
  { desks }: Context,
  reference: string,
): Promise<Partial<ResolvedKey & Unknown>> {
  try {
    return await desks().keys.find(reference)
  } catch (error) {
    // A name that several keys have: the message lists them.
    if (error instanceof KeyMistake && error.code === 'not_found') return { why: error.message }
    throw error
  }
}

function ambiguousText(what: string, { answers }: FoundRefusals, key: Key): string {
  const requests = answers.length === 1 ? 'a request' : `${answers.length} requests`
  return (
    `"${what}" is the id of ${requests} and names the key ${key.id} (${key.name}): say which with ` +
    `tollgate requests show ${what}, or tollgate keys timeline ${key.id}`
  )
}
