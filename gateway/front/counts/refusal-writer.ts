import { breathe } from '../../../shared/breathe.ts'
import type { Member } from '../fleet/store.ts'
import type { Written } from './count-writer.ts'
import type { RecentRefusals } from './recent-refusals.ts'
import { chunksKept, chunkSize, storedMs, type RefusalStore } from './refusal-store.ts'

type RefusalWriterOptions = Readonly<{
  refusals: RecentRefusals
  store: Pick<RefusalStore, 'put'>
  self: () => Pick<Member, 'id' | 'name'>
}>

/**
 * Copies refused and failed answers from memory to the store, in chunks of consecutive numbers. The chunk of the latest
 * answer is put again until it is full, so that few answers take few chunks. Chunks are known by their numbers: one that
 * was put already, in whole or in part, does no harm, and what can't be put waits in memory.
 */
export function refusalWriter({ refusals, store, self }: RefusalWriterOptions): Written {
  /** The number of the latest answer that is in the store. */
  let stored = 0

  async function put(chunk: number, last: number): Promise<void> {
    let first = Math.max(chunk * chunkSize, refusals.number - refusals.count) + 1
    // Later answers have taken the place of all of them.
    if (first > last) return
    const endMs = refusals.timeOf(last) - storedMs
    while (first < last && refusals.timeOf(first) <= endMs) first++
    const { id, name } = self()
    const [kept, from] = refusals.chunkOf(first)
    const range = [from, from + last - first] as const
    await store.put(await kept.packed(name, range, { by: id, place: chunk % chunksKept }))
  }

  return {
    async write() {
      // Later ones wait for the next time: a flood would never let it end.
      const latest = refusals.number
      stored = Math.max(stored, latest - refusals.count)
      while (stored < latest) {
        const chunk = Math.floor(stored / chunkSize)
        const last = Math.min((chunk + 1) * chunkSize, latest)
        await put(chunk, last)
        stored = last
        await breathe()
      }
    },
  }
}
