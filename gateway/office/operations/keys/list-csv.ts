import type { DayCounts } from '../../../front/counts/usage.ts'
import type { KeyInUse } from '../../../front/keys/last-use-store.ts'
import type { KeyView } from '../../../front/keys/view.ts'
import { limitSettings, limitText } from '../../../front/limits/limit-settings.ts'
import { csvPieces } from '../csv-pieces.ts'

const texts = ['id', 'name', 'plan', 'account', 'state'] as const
const times = ['bannedUntil', 'lastUsedAt', 'expiresAt', 'createdAt'] as const

type Listed = Readonly<{
  each: Iterable<KeyInUse> | AsyncIterable<KeyInUse>
  view: (inUse: KeyInUse) => KeyView
  /** The requests of today, by the ids of keys. */
  today: () => Promise<ReadonlyMap<string, DayCounts>>
}>

/** Keys as CSV: their settings, their requests of today and their last uses. */
export async function* listCsv({ each, view, today }: Listed): AsyncGenerator<string, void> {
  const counts = await today()
  const names = [
    ...texts,
    'admittedToday',
    'refusedToday',
    ...times,
    ...limitSettings,
    'note',
    'reference',
    'scopes',
    'origins',
  ]
  yield* csvPieces(names, each, (inUse) => {
    const key: Partial<KeyView> = view(inUse)
    const { admitted = 0, refused = 0 } = counts.get(inUse.key.id) ?? {}
    const own = limitSettings.map((name) => {
      const setting = key.limits?.[name]
      return setting === undefined ? '' : limitText(setting)
    })
    const [said, at] = [texts, times].map((all) => all.map((name) => key[name] ?? ''))
    return [
      ...(said ?? []),
      admitted,
      refused,
      ...(at ?? []),
      ...own,
      key.note ?? '',
      key.reference ?? '',
      key.scopes?.join(' ') ?? '',
      key.origins?.join(' ') ?? '',
    ]
  })
}
