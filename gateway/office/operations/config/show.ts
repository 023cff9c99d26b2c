import { configText } from '../../config/show.ts'
import { ofCommandLine } from '../operation.ts'
import { configFile } from '../parameters.ts'

export const showConfig = ofCommandLine({
  name: 'config show',
  because: 'it reads a file of this machine; GET /admin/config shows what is in force',
  summary: 'Show a configuration as it works: complete with defaults, without secrets',
  parameters: { file: configFile },
  role: 'read',
  run: ({ preview }) => Promise.resolve(preview.shown),
  text: (shown) => configText(shown).trimEnd(),
})
