import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../../shared/clock.ts'
import { foreverMs } from '../../../../shared/windows.ts'
import { storedMs, type RefusalStore } from '../../counts/refusal-store.ts'
import { fleetOn } from '../../fleet/shared-fleet.ts'
import { mergedUses, type LastUseStore } from '../../keys/last-use-store.ts'
import type { Counts, Space } from '../../shelves/counts.ts'
import type { Documents } from '../../shelves/documents.ts'
import { recordsOn, type Shelves } from '../records.ts'
import type { Stores } from '../stores.ts'

/** Stores of an app's own. The app closes them, after Tollgate. */
export type OwnStores = Shelves &
  Pick<Stores, 'keys' | 'strangers'> &
  Pick<Stores, 'warnings' | 'ready' | 'waitsFor' | 'close'> &
  Readonly<{ quotas: Stores['quota'] }>

/** The latest use of each token of a key, under its mark. A key has few: each is at one time, which is none. */
const useSpace: Space = {
  ...{ name: 'uses', unitMs: foreverMs, kept: 1, merge: ['max'], readBy: 'key' },
}

/** The folder and the name of the document that says since when uses are noted. */
const [usesFolder, since] = ['uses', 'since']

/** The folder of the indexes of all chunks. Their answers lie in a folder of each process, so that nobody reads those by the way. */
const refusalsFolder = 'refusals'
const folderOf = (by: string): string => `${refusalsFolder}:${by}`

/** The bytes of a time before the hashes of an index. */
const timeBytes = 8

const shelfNames = ['keys', 'quotas', 'counts', 'lists', 'documents', 'messages'] as const

/** All stores of a gateway, on the shelves of an app's own; those that `openStores` has opened as they are. */
export function storesOn(own: OwnStores | Stores, clock: Clock): Stores {
  if ('fleet' in own) return own
  const lacking = shelfNames.find((name) => typeof own[name] !== 'object')
  if (lacking !== undefined) throw new TypeError(`Tollgate’s option "stores" lacks "${lacking}"`)
  const { quotas: quota, counts, documents } = own
  return {
    ...own,
    ...recordsOn(own, clock),
    quota,
    lastUses: lastUsesOn(counts, documents),
    refusals: refusalsOn(documents),
    fleet: fleetOn(documents, clock),
    get warnings() {
      return own.warnings
    },
    ready: () => own.ready(),
    waitsFor: (error) => own.waitsFor(error),
    close: () => own.close(),
  }
}

/** Last uses on the shelf of counts, by the clocks of gateways. */
function lastUsesOn(counts: Counts, documents: Documents): LastUseStore {
  const by = randomUUID()
  let number = 0
  let hasBegun = false
  return {
    async note(uses, nowMs) {
      const options = { keptMs: foreverMs, version: 0 }
      if (!hasBegun) await documents.put(usesFolder, since, String(nowMs), options)
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
      const document = await documents.get(usesFolder, since)
      return document && Number(document.body)
    },
  }
}

/** Refused answers on the shelf of documents. */
function refusalsOn(documents: Documents): RefusalStore {
  return {
    async put({ by, place, lastMs, hashes, answers }) {
      const time = Buffer.alloc(timeBytes)
      time.writeDoubleBE(lastMs)
      const index = Buffer.concat([time, hashes])
      // First, because whoever finds the index asks for them.
      await documents.put(folderOf(by), String(place), answers, { keptMs: storedMs })
      await documents.put(refusalsFolder, `${place} ${by}`, index, { keptMs: storedMs })
    },

    async indexes(afterMs) {
      const { documents: all } = await documents.list(refusalsFolder)
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
