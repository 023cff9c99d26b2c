import type { Clock } from '../../../../shared/clock.ts'
import { tellingTrouble } from '../../../../shared/trouble.ts'
import type { Database } from '../../../../shared/sqlite.ts'
import { intactKeyFrom } from '../../keys/key.ts'
import { pollMs, type KeyListener, type Watch } from '../../keys/store.ts'

/** Changes that are read in one turn of the loop. */
const batchSize = 100

/** A watch, which hears of changes of this process itself: they don't move the file's version. */
export type FileWatch = Watch & Readonly<{ readOwnChange: () => void }>

/** Watches the keys of a file, which other processes change as well: it polls the file's version. */
export function watchKeys(
  database: Database,
  clock: Clock,
  listener: KeyListener,
  closed: (watch: FileWatch) => void,
): FileWatch {
  const since = database.prepare<number, { version: number; record: string }>(
    `SELECT version, record FROM keys WHERE version > ? ORDER BY version LIMIT ${batchSize}`,
  )
  const latest = database.prepare<[], number>('SELECT coalesce(max(version), 0) FROM keys').pluck()
  const fileVersion = database.prepare<[], number>('PRAGMA data_version').pluck()
  const storedEpoch = database.prepare<[], string>('SELECT epoch FROM store').pluck()
  const tell = tellingTrouble(listener.trouble)
  /** The version up to which changes have been read. */
  let seen = latest.get() ?? 0
  let seenFileVersion = fileVersion.get()
  let epoch = storedEpoch.get()
  let upToDateAtMs = clock()
  let [isFailing, hasUnread, isScheduled, hasMissed, isPolled] = [false, false, false, false, false]

  function poll(): void {
    if (!database.open) return
    try {
      const version = fileVersion.get()
      if (version !== seenFileVersion || hasUnread) read()
      seenFileVersion = version
      if (!hasUnread) upToDateAtMs = clock()
      isFailing = false
      tell(undefined)
    } catch (error) {
      isFailing = true
      tell(error)
    }
  }

  function read(): void {
    const present = storedEpoch.get()
    if (present !== undefined && present !== epoch) {
      epoch = present
      listener.emptied?.(present)
    }
    // An older file was put in place of this one: read all of it again.
    if ((latest.get() ?? 0) < seen) seen = 0
    const rows = since.all(seen)
    seen = rows.at(-1)?.version ?? seen
    const intact = rows.flatMap(({ record, version }) => {
      const key = intactKeyFrom(record)
      return key ? [{ key, version }] : []
    })
    if (intact.length > 0) listener.changed(intact)
    // A damaged key can't be reported.
    hasMissed ||= intact.length < rows.length
    hasUnread = rows.length === batchSize
    if (hasUnread) readOn()
  }

  function readOn(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      poll()
    })
  }

  const timer = setInterval(poll, pollMs).unref()
  const watch: FileWatch = {
    get upToDateAtMs() {
      return upToDateAtMs
    },

    isUpToDate() {
      // Polls once per turn of the loop: most requests of a turn were sent before it.
      if (!isPolled && !hasUnread) {
        isPolled = true
        setImmediate(() => (isPolled = false))
        poll()
      }
      return database.open && !isFailing && !hasUnread && !hasMissed
    },

    readOwnChange() {
      hasUnread = true
      poll()
    },

    close() {
      clearInterval(timer)
      closed(watch)
    },
  }
  return watch
}
