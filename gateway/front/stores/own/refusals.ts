import { storedMs, type RefusalStore } from '../../counts/refusal-store.ts'
import type { Documents } from '../../shelves/documents.ts'

/** The folder of the indexes of all chunks. Their answers lie in a folder of each process, so that nobody reads those by the way. */
const folder = 'refusals'
const folderOf = (by: string): string => `${folder}:${by}`

/** The bytes of a time before the hashes of an index. */
const timeBytes = 8

/** Refused answers on the shelf of documents. */
export function refusalsOn(documents: Documents): RefusalStore {
  return {
    async put({ by, place, lastMs, hashes, answers }) {
      const time = Buffer.alloc(timeBytes)
      time.writeDoubleBE(lastMs)
      const index = Buffer.concat([time, hashes])
      // First, because whoever finds the index asks for them.
      await documents.put(folderOf(by), String(place), answers, { keptMs: storedMs })
      await documents.put(folder, `${place} ${by}`, index, { keptMs: storedMs })
    },

    async indexes(afterMs) {
      const { documents: all } = await documents.list(folder)
      const indexes = all.flatMap(({ name, body }) => {
        const [, place, by = ''] = /^(\d+) (.*)$/s.exec(name) ?? []
        if (place === undefined || body.length < timeBytes) return []
        const [lastMs, hashes] = [body.readDoubleBE(), body.subarray(timeBytes)]
        return [{ by, place: Number(place), lastMs, hashes }]
      })
      return indexes.filter(({ lastMs }) => lastMs > afterMs)
    },

    answers: async ({ by, place }) => (await documents.get(folderOf(by), String(place)))?.body,
  }
}
