import type { TallyStore } from '../counts/tally-store.ts'

/**
 * The tallies of some keys, as if they were those of one. Only those with a name among `whats` are read, so that a question
 * costs the same however many keys the store has.
 */
export function ownTallies(
  store: Pick<TallyStore, 'some'>,
  keys: readonly string[],
  whats: readonly string[],
): Pick<TallyStore, 'list'> {
  return {
    async *list(fromDay, toDay, key = '') {
      for (let day = fromDay; day <= toDay; day++) {
        const counts = await store.some(day, keys, whats)
        for (const { what, count } of counts) yield { day, key, what, count, lastMs: 0 }
      }
    },
  }
}
