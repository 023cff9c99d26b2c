import { endText } from '../../../../shared/times.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import { points } from '../kinds.ts'
import { operation, WrongInput } from '../operation.ts'
import { oneKey, textOf } from '../parameters.ts'

export const grantQuota = operation({
  name: 'quota grant',
  at: ['POST /admin/quota/{id}/grant'],
  summary: 'Add points to this day or this minute of a key, or of its account',
  details:
    'They are gone with the day or the minute, on every gateway. Several grants add up, at most 50 a day.',
  parameters: {
    key: oneKey,
    perDay: { kind: points, value: 'N', option: 'day', help: 'points for this day, UTC' },
    perMinute: { kind: points, value: 'N', option: 'minute', help: 'points for this minute' },
    note: textOf('TEXT', 'why, for other operators'),
  },
  changes: true,
  role: 'support',
  run: async ({ desks }, { key, perDay = 0, perMinute = 0, note }) => {
    if (perDay === 0 && perMinute === 0) {
      throw new WrongInput('a grant needs points, for the day or for the minute')
    }
    if (key.revokedAtMs !== undefined) {
      throw new KeyMistake(`the key "${key.id}" is revoked, and nothing lets it in`, 'conflict')
    }
    return desks().quotas.grant(key.id, { perDay, perMinute, note })
  },
  text: ({ minute, day, grants }, { clock }) => {
    const windows = [
      ['minute', minute, grants.some(({ perMinute }) => perMinute !== null)],
      ['day', day, grants.some(({ perDay }) => perDay !== null)],
    ] as const
    return windows
      .flatMap(([name, window, isGranted]) =>
        window && isGranted
          ? [
              `Its limit is ${window.limit} a ${name} until ${endText(window.reset * 1_000, clock())}, ${window.used} of them used.`,
            ]
          : [],
      )
      .join('\n')
  },
})
