import { settingColumns } from '../../../front/keys/rows.ts'
import { csvText } from '../../../../shared/csv-text.ts'
import { ofCommandLine } from '../operation.ts'
import { newKey, settingsFrom } from './settings.ts'

export const createKeysFrom = ofCommandLine({
  name: 'keys create --from',
  because: 'its answer is the tokens of many keys; a client of the admin API makes each by itself',
  summary: 'Create a key from each row of a file, all or none, and print CSV with the tokens, once',
  details:
    `FILE is CSV with a line of column names, or JSON lines. Columns: ${settingColumns.join(', ')} ` +
    '(true or false). Options fill what a row leaves out. If a row has a mistake, the first 100 ' +
    'mistakes are told with their lines, no key is made, and the exit code is 2.',
  parameters: {
    file: { types: [] },
    ...newKey,
    plan: { ...newKey.plan, isRequired: false },
    name: { ...newKey.name, isRequired: false },
  },
  changes: true,
  role: 'all',
  run: async ({ desks, clock }, { file, test, ...defaults }) => {
    const settings = { ...settingsFrom(defaults, clock()), test: test || undefined }
    const issued = await desks().keys.createFrom([file.read()], settings)
    return issued.map(({ key: { id, name, plan, account = null }, token }) => {
      return { id, name, plan, account, token }
    })
  },
  text: (keys) => {
    const rows = keys.map(({ id, name, plan, account, token }) => {
      return [id, name, plan, account ?? '', token]
    })
    return csvText(['id', 'name', 'plan', 'account', 'token'], rows)
  },
})
