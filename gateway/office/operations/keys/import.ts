import { withCommas } from '../../../../shared/commas.ts'
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
    'code is 2.',
  parameters: {
    file: {
      types: ['text/csv', 'application/x-ndjson', 'text/plain', 'application/json'],
      mostBytes: 64 * 2 ** 20,
    },
    dryRun: { ...aSwitch('check the file, and add nothing'), isOfCommand: true },
  },
  changes: true,
  role: 'all',
  takesLong: () => true,
  isAlone: true,
  run: async ({ desks, progress }, { file, dryRun = false }) => {
    let draw: ((done: number) => void) | undefined
    const show = (done: number, total: number): void => {
      draw ??= progress('keys', total)
      draw(done)
    }
    return {
      dryRun,
      keys: await desks().keys.import(file.pieces?.() ?? [file.read()], show, dryRun),
    }
  },
  json: ({ dryRun, keys }) => (dryRun ? { mistakes: [], keys } : { imported: keys }),
  text: ({ dryRun, keys }) => {
    const count = keys === 1 ? '1 key' : `${withCommas(keys)} keys`
    return dryRun ? `The file has no mistakes: ${count} would be imported.` : `${count} imported.`
  },
})
