import { randomUUID } from 'node:crypto'
import { foreverMs } from '../../../../shared/windows.ts'
import { mergedUses, type LastUseStore } from '../../keys/last-use-store.ts'
import type { Counts, Space } from '../../shelves/counts.ts'
import type { Documents } from '../../shelves/documents.ts'

/** The latest use of each token of a key, under its mark. A key has few: each is at one time, which is none. */
const useSpace: Space = {
  ...{ name: 'uses', unitMs: foreverMs, kept: 1, merge: ['max'], readBy: 'key' },
}

/** The folder and the name of the document that says since when uses are noted. */
const [folder, since] = ['uses', 'since']

/** Last uses on the shelf of counts, by the clocks of gateways. */
export function lastUsesOn(counts: Counts, documents: Documents): LastUseStore {
  const by = randomUUID()
  let number = 0
  let hasBegun = false
  return {
    async note(uses, nowMs) {
      const options = { keptMs: foreverMs, version: 0 }
      if (!hasBegun) await documents.put(folder, since, String(nowMs), options)
      hasBegun = true
      const lines = uses.map(({ key, mark, atMs }) => ({ key, part: mark, at: 0, numbers: [atMs] }))
      await counts.add(useSpace, { by, number: ++number, lines })
    },

    async of(ids) {
      const { keys, parts, numbers } = await counts.of(useSpace, ids, 0, 0)
      const found = new Map(ids.map((id) => [id, new Map<string, number>()]))
      keys.forEach((key, i) => found.get(key)?.set(parts[i] ?? '', numbers[i] ?? 0))
      return ids.map((id) => {
        const uses = mergedUses(found.get(id))
        return uses.size > 0 ? uses : undefined
      })
    },

    async since() {
      const document = await documents.get(folder, since)
      return document && Number(document.body)
    },
  }
}
