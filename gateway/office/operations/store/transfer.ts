import { createReadStream, statSync, type ReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { StoreSettings } from '../../../front/config/config.ts'
import { dumpOf, rowsOf } from '../../../front/stores/dump/dump.ts'
import type { Reading } from '../../../front/stores/dump/kind.ts'
import { load, type Loaded } from '../../../front/stores/dump/load.ts'
import { openToRead, openToWrite, requireRoomIn } from '../../../front/stores/dump/open.ts'
import { rowsIn } from '../../../front/stores/dump/read.ts'
import type { Row } from '../../../front/stores/dump/rows.ts'
import type { ReadStore } from '../../../front/stores/dump/store.ts'
import { newFile } from '../../../front/stores/embedded/new-file.ts'
import { storeName } from '../../../front/stores/open.ts'
import type { CommandContext } from '../context.ts'

export { backupFile } from '../../../front/stores/embedded/backup.ts'
export { requireFree } from '../../../front/stores/embedded/new-file.ts'
export { isSameStore } from '../../../front/stores/dump/open.ts'
export { storeName }

/** From which store to which other one. */
export type Copy = Readonly<{
  from: StoreSettings
  to: StoreSettings
  isDryRun: boolean
  /** Whether gateways may serve from the store that is read. */
  isLive: boolean
}>

/** The numbers of rows, by their kinds, and of damaged entries that were left out. */
export type Copied = Loaded & Readonly<{ damaged: number }>

/** Copies a store to one without keys, quotas, counts and closed days. */
export async function copyStore(
  context: CommandContext,
  { from, to, isDryRun, isLive }: Copy,
): Promise<Copied> {
  const source = await openToRead(from, context.clock)
  try {
    if (!isLive) await requireQuiet(source)
    await requireRoomIn(to, context.clock)
    const reading = readingAt(context)
    const rows = rowsOf(source, reading)
    const loaded = isDryRun
      ? await load(rows, undefined, context.progress)
      : await loadInto(context, to, rows, { what: 'store.copy', from: source.name })
    return { ...loaded, damaged: reading.damaged }
  } finally {
    await source.close()
  }
}

/** Loads a dump into a store. A file is looked at whole before anything is written. */
export async function loadDump(context: CommandContext, file: string | undefined): Promise<Loaded> {
  const { store } = context.config
  const bytes = (): ReadStream => createReadStream(file ?? '', file === undefined ? { fd: 0 } : {})
  if (file !== undefined) await load(rowsIn(bytes()), undefined)
  await requireRoomIn(store, context.clock)
  const from = file ?? 'standard input'
  return loadInto(context, store, rowsIn(bytes()), { what: 'store.load', from })
}

async function loadInto(
  { clock, by, progress }: CommandContext,
  to: StoreSettings,
  rows: AsyncIterable<readonly Row[]>,
  { what, from }: Readonly<{ what: string; from: string }>,
): Promise<Loaded> {
  const goal = await openToWrite(to, clock)
  try {
    const loaded = await load(rows, goal, progress)
    const change = { what, subject: storeName(to), before: null, after: { from } }
    await goal.audit.add({ atMs: clock(), by, ...change })
    await goal.finish()
    return loaded
  } finally {
    await goal.close()
  }
}

/** The dump of the configuration's store in pieces. */
export async function* dumpPieces(
  { config, clock, progress }: CommandContext,
  reading: Reading,
): AsyncGenerator<string, void> {
  const source = await openToRead(config.store, clock)
  try {
    yield* dumpOf(source, reading, progress('rows', undefined))
  } finally {
    await source.close()
  }
}

/** Writes a dump to a new file, which only its owner may read; gives its size. */
export async function writeDump(
  context: CommandContext,
  reading: Reading,
  to: string,
): Promise<number> {
  const written = newFile(to)
  try {
    const file = await open(written.path, 'w')
    try {
      await file.writeFile(dumpPieces(context, reading))
      await file.write('\n')
      await file.sync()
    } finally {
      await file.close()
    }
    written.putInPlace()
    return statSync(to).size
  } catch (error) {
    written.discard()
    throw error
  }
}

export function readingAt({ clock }: CommandContext): Reading {
  return { nowMs: clock(), damaged: 0 }
}

async function requireQuiet(source: ReadStore): Promise<void> {
  const names = await source.gateways()
  if (names.length === 0) return
  throw new Error(
    `${names.join(', ')} ${names.length === 1 ? 'serves' : 'serve'} from ${source.name}, and a copy would lack what is counted ` +
      'meanwhile. Nothing was written: stop the gateways first, or copy with --live',
  )
}
