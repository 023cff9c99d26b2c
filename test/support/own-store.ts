import type { QuotaRow, QuotaTable } from '../../gateway/step.ts'
import type { Documents } from '../../gateway/front/shelves/documents.ts'

/** A table of quotas in memory, by a clock that a test moves. */
export function quotaTable(
  clock: () => number,
): QuotaTable & Readonly<{ rows: Map<string, QuotaRow> }> {
  const rows = new Map<string, QuotaRow>()
  return {
    rows,

    async change(quota, change) {
      for (;;) {
        const before = rows.get(quota)
        const row = change(before?.state, clock())
        // As long as a store takes, in which another one may be faster.
        await new Promise((resolve) => setImmediate(resolve))
        if (!row) return
        if (rows.get(quota) !== before) continue
        rows.set(quota, row)
        return
      }
    },

    async *list(bannedAfterMs = -1) {
      await Promise.resolve()
      yield [...rows.values()].filter(({ bannedUntilMs }) => bannedUntilMs > bannedAfterMs)
    },
  }
}

/** Documents without bodies in memory, by a clock: as much of the shelf as a store of quotas needs. */
export function versionsOnly(clock: () => number): Documents {
  const versions = new Map<string, number>()
  const nameOf = (folder: string, name: string): string => JSON.stringify([folder, name])
  return {
    list: () => Promise.resolve({ nowMs: clock(), documents: [] }),
    get(folder, name) {
      const version = versions.get(nameOf(folder, name))
      const body = Buffer.alloc(0)
      return Promise.resolve((version && { name, version, untilMs: Infinity, body }) || undefined)
    },
    put(folder, name) {
      const place = nameOf(folder, name)
      versions.set(place, (versions.get(place) ?? 0) + 1)
      return Promise.resolve(true)
    },
    take: () => Promise.resolve(undefined),
  }
}
