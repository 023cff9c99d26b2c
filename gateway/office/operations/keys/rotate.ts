import { endText } from '../../../../shared/times.ts'
import { markOf } from '../../../front/keys/last-use-store.ts'
import { keyView } from '../../../front/keys/view.ts'
import { overlapTime } from '../kinds.ts'
import { operation, type AnswerOf } from '../operation.ts'
import { oneKey, valueOf } from '../parameters.ts'
import { consequencesOf } from './consequences.ts'
import { endedBy, issuedText, usedText } from './texts.ts'

export const rotateKey = operation({
  name: 'keys rotate',
  at: ['POST /admin/keys/{id}/rotate'],
  summary: 'Give a key a new token; the old one still works for a while',
  details:
    'At most two tokens of a key work at a time: one that still works from an earlier rotation ' +
    'ends at once. If others have a token, --overlap 0 ends it now.',
  parameters: {
    key: oneKey,
    overlap: {
      ...valueOf(overlapTime, 'DURATION', 'how long the old token still works (0: not at all)'),
      defaultText: '24h',
    },
  },
  changes: true,
  role: 'support',
  run: async ({ stores, desks, clock }, { key, overlap }) => {
    // Before the change: after it, a store that fails would take the new token along.
    const [uses] = await stores().lastUses.of([key.id])
    const issued = await desks().keys.rotate(key.id, overlap)
    const now = clock()
    const olderUntilMs = key.secrets.find(({ untilMs = 0 }) => untilMs > now)?.untilMs
    return { ...issued, olderUntilMs, uses }
  },
  json: ({ key, token, uses }, { clock }) => {
    const { oldTokenUntil, oldToken } = keyView(key, clock(), { inUse: { key, uses } })
    return { id: key.id, key: token, plan: key.plan, oldTokenUntil, oldToken }
  },
  text: async ({ key, token, olderUntilMs, uses }, { desks, clock }) => {
    const { untilMs = 0, hash = '' } = key.secrets[1] ?? {}
    const usedMs = uses?.get(markOf(hash))
    const used = `It ${usedText(usedMs, clock())}.`
    const old =
      untilMs > clock()
        ? `The old one works until ${endText(untilMs, clock())}; if others have it, ${endedBy(key)}.`
        : 'The old one no longer works.'
    const older =
      olderUntilMs === undefined
        ? []
        : [
            `The one before it no longer works: it would have worked until ${endText(olderUntilMs)}, but a key has two tokens at most.`,
          ]
    const details = await desks()
      .quotas.describe(key)
      .catch(() => undefined)
    return issuedText('Rotated', key, token, [
      `${old} ${used}`,
      ...older,
      ...(details ? consequencesOf(details, details, clock()) : []),
    ])
  },
})

export type RotatedKey = AnswerOf<typeof rotateKey>
