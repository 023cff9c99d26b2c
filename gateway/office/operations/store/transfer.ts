import { createReadStream, statSync, type ReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { StoreSettings } from '../../../front/config/config.ts'
import { dumpOf, rowsOf } from '../../../front/stores/dump/dump.ts'
import type { Reading } from '../../../front/stores/dump/kind.ts'
import { load, type Loaded } from '../../../front/stores/dump/load.ts'
import { openToRead, openToWrite, requireRoomIn } from '../../../front/stores/dump/open.ts'
import { rowsIn, type PlacedRow } from '../../../front/stores/dump/read.ts'
import type { ReadStore } from '../../../front/stores/dump/store.ts'
import { newFile } from '../../../front/stores/embedded/new-file.ts'
import { storeName } from '../../../front/stores/store-name.ts'
import type { CommandContext } from '../context.ts'

export { countKeysIn } from '../../../front/stores/count-keys.ts'
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
export async function copyStore(context: CommandContext, copy: Copy): Promise<Copied> {
  const { from, to, isDryRun, isLive } = copy
  const source = await openToRead(from, context.clock)
  try {
    if (!isLive) await requireQuiet(source)
    await requireRoomIn(to, context.clock)
    const reading = readingAt(context)
    const rows = placed(source, reading)
    const loaded = isDryRun
      ? await load(rows, { goal: undefined, progress: shownIn(context) })
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
  if (file !== undefined) await load(rowsIn(bytes()), { goal: undefined })
  await requireRoomIn(store, context.clock)
  const from = file ?? 'standard input'
  return loadInto(context, store, rowsIn(bytes()), { what: 'store.load', from })
}

async function loadInto(
  context: CommandContext,
  to: StoreSettings,
  rows: AsyncIterable<readonly PlacedRow[]>,
  { what, from }: Readonly<{ what: string; from: string }>,
): Promise<Loaded> {
  const { clock, by } = context
  const goal = await openToWrite(to, clock)
  try {
    const loaded = await load(rows, { goal, progress: shownIn(context) })
    const change = { what, subject: storeName(to), before: null, after: { from } }
    await goal.audit.add({ atMs: clock(), by, ...change })
    await goal.finish()
    return loaded
  } finally {
    await goal.close()
  }
}

/** The dump of a store in pieces, and what is told of it. */
export function dumpPieces(
  context: CommandContext,
  reading: Reading,
): AsyncGenerator<string, void> {
  return withStore(context, (source) =>
    dumpOf(source, reading, context.progress('rows', undefined)),
  )
}

async function* withStore(
  { config, clock }: CommandContext,
  piecesOf: (source: ReadStore) => AsyncIterable<string>,
): AsyncGenerator<string, void> {
  const source = await openToRead(config.store, clock)
  try {
    yield* piecesOf(source)
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

async function* placed(source: ReadStore, reading: Reading): AsyncGenerator<readonly PlacedRow[]> {
  for await (const rows of rowsOf(source, reading)) yield rows.map((row) => ({ row, line: 0 }))
}

/** Shows how many rows of a kind have come. */
function shownIn({ progress }: CommandContext): (kind: string, done: number) => void {
  let current = ''
  let draw: (done: number) => void = () => undefined
  return (kind, done) => {
    if (kind !== current) draw = progress(kind, undefined)
    current = kind
    draw(done)
  }
}

async function requireQuiet(source: ReadStore): Promise<void> {
  const names = await source.gateways()
  if (names.length === 0) return
  throw new Error(
    `${names.join(', ')} ${names.length === 1 ? 'serves' : 'serve'} from ${source.name}, and a copy would lack what is counted ` +
      'meanwhile. Nothing was written: stop the gateways first, or copy with --live',
  )
}
