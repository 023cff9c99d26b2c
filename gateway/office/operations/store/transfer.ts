import type { StoreSettings } from '../../../front/config/config.ts'
import { copyStore, type Copied, type CopySource } from '../../../front/stores/copy.ts'
import { openGoal, openSource } from '../../../front/stores/open-copy.ts'
import type { CommandContext } from '../context.ts'

export { countKeysIn } from '../../../front/stores/count-keys.ts'
export { backupFile } from '../../../front/stores/embedded/backup.ts'
export { requireFree } from '../../../front/stores/embedded/new-file.ts'
export { isSameStore } from '../../../front/stores/open-copy.ts'
export { storeName } from '../../../front/stores/store-name.ts'

/** From which store to which other one. */
export type Transfer = Readonly<{
  from: StoreSettings
  to: StoreSettings
  isDryRun: boolean
  intoNonEmpty: boolean
  /** Whether gateways may serve from the store that is read. */
  isLive: boolean
}>

/** Opens both, copies, and closes both, whatever happens. */
export async function transfer(
  { clock, progress, by }: CommandContext,
  { from, to, isDryRun, intoNonEmpty, isLive }: Transfer,
): Promise<Copied> {
  const source = await openSource(from, clock)
  try {
    if (!isLive) await requireQuiet(source)
    const goal = await openGoal(to, clock)
    try {
      let current = ''
      let draw: (done: number) => void = () => undefined
      return await copyStore(source, goal, {
        isDryRun,
        intoNonEmpty,
        nowMs: clock(),
        by,
        progress: (what, done, total) => {
          if (what !== current) draw = progress(what, total)
          current = what
          draw(done)
        },
      })
    } finally {
      await goal.close()
    }
  } finally {
    await source.close()
  }
}

async function requireQuiet(source: CopySource): Promise<void> {
  const names = await source.gateways()
  if (names.length === 0) return
  throw new Error(
    `${names.join(', ')} ${names.length === 1 ? 'serves' : 'serve'} from ${source.name}, and a copy would lack what is counted ` +
      'meanwhile. Nothing was written: stop the gateways first, or copy with --live',
  )
}
