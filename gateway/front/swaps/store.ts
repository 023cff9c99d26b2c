import { dayMs } from '../../../shared/windows.ts'
import type { Documents } from '../shelves/documents.ts'
import { progressFrom, type SwapProgress } from './progress.ts'

/** A swap by its upstream and the digest of its description: another description is another swap. */
export type SwapName = Readonly<{ upstream: string; id: string }>

/** The counts of one process in a round, as a text. Later ones of a process take the place of its former ones. */
export type ProcessRound = Readonly<{ by: string; round: number; counts: string }>

/** Where a swap stands, by the store's clock. */
export type SeenSwap = Readonly<{
  nowMs: number
  /** Rises with each change; 0 for a swap that nobody has begun. */
  version: number
  progress: SwapProgress | undefined
  /** The counts of all processes in this round. */
  counts: readonly string[]
}>

/** How long a swap is remembered that no gateway asks for. */
const keptMs = 90 * dayMs

/** The name of the progress, beside the counts of processes by their ids. */
const progressName = 'progress'

/** Where swaps stand. A store that can't be asked at the moment rejects with `StoreUnavailable`. */
export interface SwapStore {
  /** Where a swap stands. Counts of another round than the present one are dropped. */
  look(name: SwapName, processRound?: ProcessRound): Promise<SeenSwap>
  /** Puts a progress in place of the version that was seen; `false` if another change came first. */
  change(name: SwapName, version: number, progress: SwapProgress): Promise<boolean>
}

/** Swaps on a shelf of documents: a folder each, with its progress and the counts of processes. */
export function swapsOn(documents: Documents): SwapStore {
  /** The last that was told of each swap: counts that are the same aren't written again. */
  const told = new Map<string, string>()
  return {
    async look(name, processRound) {
      const folder = folderOf(name)
      const tell = async ({ by, round, counts }: ProcessRound): Promise<void> => {
        const text = `${round} ${counts}`
        if (told.get(folder) !== text) await documents.put(folder, by, text, { keptMs })
        told.set(folder, text)
      }
      // Both on one way there and back: the time of the store is learnt from it.
      const telling = processRound && tell(processRound)
      const [{ nowMs, documents: all }] = await Promise.all([documents.list(folder), telling])
      const stored = all.find((each) => each.name === progressName)
      if (!stored) return { nowMs, version: 0, progress: undefined, counts: [] }
      const { version, untilMs, body } = stored
      // Put off once a day: it costs a write, and makes another version of it.
      if (untilMs - nowMs < keptMs - dayMs) {
        await documents.put(folder, progressName, body, { keptMs, version })
      }
      const progress = progressFrom(String(body))
      const counts = all.flatMap(({ name, body }) => {
        const [, round, counts] = /^(\d+) (.*)$/s.exec(String(body)) ?? []
        return name !== progressName && Number(round) === progress?.round ? [counts ?? ''] : []
      })
      return { nowMs, version, progress, counts }
    },

    change: (name, version, progress) =>
      documents.put(folderOf(name), progressName, JSON.stringify(progress), { keptMs, version }),
  }
}

function folderOf({ upstream, id }: SwapName): string {
  return `swap:${upstream}:${id}`
}
