import { withCommas } from '../../../../shared/commas.ts'
import { endText, timeText } from '../../../../shared/times.ts'
import { loggable } from '../../../../shared/log.ts'
import { printable } from '../../../../shared/printable.ts'
import { windows } from '../../../../shared/windows.ts'
import type { Explained, WindowView } from '../../explain/explained.ts'
import { mostFound } from '../../../front/counts/refusal-store.ts'
import type { FoundRefusals } from '../../explain/refusals-of.ts'
import { whoseText } from '../../explain/sentences.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import { argument, textOf } from '../parameters.ts'
import { operation } from '../operation.ts'
import { aligned } from '../table.ts'

export const showRequest = operation({
  name: 'requests show',
  at: ['GET /admin/requests/{id}'],
  summary: 'Explain the refused or failed answers with one X-Request-Id',
  details:
    'Each gateway keeps its latest 20,000 refused or failed answers, and all of them are asked. The store has those of ' +
    'gateways that have stopped, for a day. Callers may choose ids, so several answers can have the same: the newest 500 ' +
    'are shown.',
  parameters: {
    id: { ...textOf('ID', 'the X-Request-Id of an answer'), ...argument },
  },
  role: 'read',
  run: async ({ refusalsOf }, { id }) => {
    const refusals = await refusalsOf(id)
    if (refusals.answers.length === 0) throw new KeyMistake(nothingText(id, refusals), 'not_found')
    return refusals
  },
  text: (refusals, { clock }) => requestsText(refusals, clock()),
})

/** Why nothing is known of an id, and how far back it would be. */
export function nothingText(id: string, { gateways, kept, since, stored }: FoundRefusals): string {
  if (since === null && !stored?.kept)
    return `no gateway answers, so nothing is known of requests like "${loggable(id)}"`
  const where = [memoryText(gateways, kept, since), storeText(stored)].filter(Boolean).join('; ')
  return `no refused or failed answer has the id "${loggable(id)}": ${where}. Requests that were admitted and answered are not kept`
}

function memoryText(
  { asked, answered }: FoundRefusals['gateways'],
  kept: number,
  since: string | null,
): string {
  if (since === null) return 'no gateway answers'
  const who =
    answered === asked
      ? `${answered} ${answered === 1 ? 'gateway keeps' : 'gateways keep'}`
      : `${answered} of ${asked} gateways answer, and keep`
  return `${who} ${withCommas(kept)} refused or failed answers, all since ${timeText(Date.parse(since))}`
}

/** What the store has of gateways that haven't answered; empty if that is nothing. */
function storeText(stored: FoundRefusals['stored']): string {
  if (!stored) return 'the store, which has those of gateways that have stopped, gives no answer'
  const { gateways, kept } = stored
  const which =
    gateways === 1 ? '1 that has stopped or doesn’t' : `${gateways} that have stopped or don’t`
  return kept === 0 ? '' : `the store has ${withCommas(kept)} of the last day, of ${which} answer`
}

/** Answers with one id for people: one in full, several in a table. */
export function requestsText({ answers, gateways, stored }: FoundRefusals, nowMs: number): string {
  const [newest, ...others] = answers
  if (!newest) return 'Nothing is known of it.'
  const { asked, answered } = gateways
  const missing = [
    ...(answered < asked ? [`Only ${answered} of ${asked} gateways answered.`] : []),
    ...(stored
      ? []
      : ['The store gives no answer: those of gateways that have stopped are missing.']),
  ]
  if (others.length === 0) return [...missing, answerText(newest, nowMs)].join('\n\n')
  const rows = answers.map(({ time, status, code, reason, key, name, sentence }) => [
    timeText(Date.parse(time)),
    status,
    code ?? '',
    reason,
    key === null ? '' : `${key} (${name})`,
    sentence,
  ])
  const heads = ['WHEN', 'STATUS', 'CODE', 'REASON', 'KEY', 'WHY']
  const number = answers.length < mostFound ? answers.length : `${mostFound} or more`
  const several = `${number} refused or failed answers have this id, newest first:`
  return [...missing, `${several}\n\n${aligned([heads, ...rows])}`].join('\n\n')
}

/** One answer: the sentence first, then everything that is known. */
function answerText(answer: Explained, nowMs: number): string {
  const { status, code, time, sentence, upstream, target, upstreamMs } = answer
  const backend = [upstream, target, upstreamMs === null ? null : `${upstreamMs} ms`]
  const { key, name, plan, account, test, decidedBy, bannedUntil } = answer
  const whose = whoseText({ plan, account, isTest: test })
  const ofWhom = decidedBy === null ? ' (of the address, for requests without a valid key)' : ''
  const rows = [
    ['request:', `${answer.id}, ${answer.method} ${answer.path} (route ${answer.route})`],
    ['reason:', answer.reason],
    ...(key === null ? [] : [['key:', `${key} (${name}, ${whose})`]]),
    ...windows.flatMap(({ name: each }) => {
      const view = answer[each]
      return view ? [[`${each}:`, windowText(view, nowMs) + ofWhom]] : []
    }),
    ...(answer.estimate === undefined ? [] : [['cost:', costText(answer.cost, answer.estimate)]]),
    ...(answer.underWay ? [['under way:', underWayText(answer.underWay)]] : []),
    ...(answer.strikes > 0 ? [['strikes:', strikesText(answer)]] : []),
    ...(bannedUntil === null ? [] : [['banned until:', endText(Date.parse(bannedUntil), nowMs)]]),
    ...(decidedBy === null ? [] : [['decided by:', deciders[decidedBy]]]),
    ...(upstreamMs === null ? [] : [['backend:', backend.filter(Boolean).join(', ')]]),
    ['gateway:', `${answer.gateway}, ${answer.ownMs} ms, configuration ${answer.config}`],
  ]
  const head = `${status} ${code ?? 'from the backend'}, ${timeText(Date.parse(time))}: ${sentence}`
  return `${printable(head)}\n\n${aligned(rows)}`
}

function costText(cost: number, estimate: number): string {
  return `${withCommas(cost)} ${cost === 1 ? 'point' : 'points'}, estimated ${withCommas(estimate)}`
}

/** The oldest requests where no more might be under way. */
function underWayText({ ids, others }: NonNullable<Explained['underWay']>): string {
  const more = others > 0 ? [`${withCommas(others)} more`] : []
  return [...ids, ...more].join(', ')
}

function strikesText({ strikes, strikesToBan }: Explained): string {
  return strikesToBan === null ? String(strikes) : `${strikes} of ${strikesToBan} that ban the key`
}

const deciders = {
  store: 'the store',
  memory: 'the gateway, which knew of an earlier refusal',
  alone: 'the gateway alone, because the store was out of reach',
} as const

function windowText({ limit, used, reset }: WindowView, nowMs: number): string {
  const use = used === null ? 'unknown use' : `${withCommas(used)} used`
  return `${use} of ${withCommas(limit)}, until ${endText(reset * 1_000, nowMs)}`
}
