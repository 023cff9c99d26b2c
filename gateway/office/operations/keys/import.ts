import { counted, withCommas } from '../../../../shared/commas.ts'
import { settingColumns } from '../../../front/keys/rows.ts'
import { operation } from '../operation.ts'
import { aSwitch } from '../parameters.ts'

const othersThanPlan = settingColumns.filter((column) => column !== 'plan')

export const importKeys = operation({
  name: 'keys import',
  at: ['POST /admin/keys/import'],
  summary: 'Add the keys of another system, all or none',
  details:
    'FILE is CSV with a line of column names, or JSON lines. Columns: token or sha256 (hex or ' +
    `base64url), plan, and, as needed, ${othersThanPlan.join(', ')} (true or ` +
    'false). If a row has a mistake, the first 100 mistakes are told with their lines, nothing is added, and the exit ' +
    'code is 2. To bring the same file again with more rows, --skip-existing leaves out those whose tokens are in the store.',
  parameters: {
    file: {
      types: ['text/csv', 'application/x-ndjson', 'text/plain', 'application/json'],
      mostBytes: 64 * 2 ** 20,
    },
    dryRun: { ...aSwitch('check the file, and add nothing'), isOfCommand: true },
    skipExisting: aSwitch('leave out rows whose tokens are in the store already'),
  },
  changes: true,
  role: 'all',
  takesLong: () => true,
  isAlone: true,
  run: async ({ desks, progress }, { file, dryRun = false, skipExisting }) => {
    let draw: ((done: number) => void) | undefined
    const show = (done: number, total: number): void => {
      draw ??= progress('keys', total)
      draw(done)
    }
    const ways = { isDryRun: dryRun, skipsStored: skipExisting }
    const text = file.pieces?.() ?? [file.read()]
    const { keys, skipped } = await desks().keys.import(text, show, ways)
    return { dryRun, keys, skipped: skipExisting ? skipped : undefined }
  },
  json: ({ dryRun, keys, skipped }) => ({
    ...(dryRun ? { mistakes: [], keys } : { imported: keys }),
    skipped,
  }),
  text: ({ dryRun, keys, skipped = 0 }) => {
    const count = counted(keys, 'key')
    const left = skipped > 0 ? ` ${withCommas(skipped)} left out: in the store already.` : ''
    return dryRun
      ? `The file has no mistakes: ${count} would be imported.${left}`
      : `${count} imported.${left}`
  },
})
