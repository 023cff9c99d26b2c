import { withCommas } from '../../../../shared/commas.ts'
import { timeText } from '../../../../shared/times.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import { topUpIdPattern } from '../../../front/limits/top-ups.ts'
import { boughtPoints, ofText } from '../kinds.ts'
import { operation } from '../operation.ts'
import { oneKey, textOf, valueOf } from '../parameters.ts'
import { aligned } from '../table.ts'

const topUpId = ofText('1 to 64 printable characters without spaces, such as invoice-17', (text) =>
  new RegExp(topUpIdPattern).test(text) ? text : undefined,
)

export const topUpQuota = operation({
  name: 'quota top-up',
  at: ['POST /admin/quota/{id}/top-up'],
  summary: 'Add points that were bought in advance to a key, or to its account',
  details:
    'Each id counts once: after an error, send the same one again. --take takes points that are left back, for a correction.',
  parameters: {
    key: oneKey,
    points: { ...valueOf(boughtPoints, 'POINTS', 'the points that were bought'), isArgument: true },
    take: valueOf(boughtPoints, 'N', 'instead of POINTS: the points to take back'),
    id: { ...valueOf(topUpId, 'ID', 'what it is for, such as invoice-17'), isRequired: true },
    note: textOf('TEXT', 'the reason, for other operators'),
  },
  needsOneOf: ['points', 'take'],
  changes: true,
  role: 'all',
  run: ({ desks }, { key, points, take, id, note }) => {
    if (points !== undefined && take !== undefined) {
      throw new KeyMistake('give the points that were bought, or those to take back: not both')
    }
    const signed = points ?? -(take ?? 0)
    return desks().quotas.topUp(key, { id, points: signed, note })
  },
  text: ({ points, left, again, id }) => {
    const [verb, many] = points < 0 ? ['took', -points] : ['added', points]
    const what = `${verb} ${withCommas(many)} bought points`
    return again
      ? `${id} was done before: it ${what}, and ${withCommas(left)} were left.`
      : `It ${what}; ${withCommas(left)} are left.`
  },
})

export const listTopUps = operation({
  name: 'quota top-ups',
  at: ['GET /admin/quota/{id}/top-ups'],
  summary: 'List what was bought in advance for a key, or for its account',
  details: 'The latest 1,000, the newest first.',
  parameters: { key: oneKey },
  role: 'read',
  run: ({ desks }, { key }) => desks().quotas.topUps(key),
  text: (topUps) => {
    if (topUps.length === 0) return 'Nothing was bought in advance.'
    const rows = topUps.map(({ at, id, points, left, by, note }) => [
      timeText(Date.parse(at)),
      ...[id, points, left, by, note ?? ''],
    ])
    return aligned([['AT', 'ID', 'POINTS', 'LEFT', 'BY', 'NOTE'], ...rows])
  },
})
