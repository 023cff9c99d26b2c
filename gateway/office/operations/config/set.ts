import { settingValue } from '../kinds.ts'
import { ofCommandLine } from '../operation.ts'
import { argument, aSwitch, configFile, textOf, valueOf } from '../parameters.ts'

export const setConfig = ofCommandLine({
  name: 'config set',
  because: 'it reads a file of this machine; POST /admin/config/edit changes the text in force',
  summary: 'Print a configuration with another value of one setting; the rest stays as it is',
  details:
    'PLACE is the place of the setting, such as plans.free.perHour or routes[0].cost. VALUE is YAML, such as 40, ' +
    'unlimited or "{ strikes: 10, within: 2m }"; null removes the setting. Nothing is written.',
  parameters: {
    place: { ...textOf('PLACE', 'the place of the setting'), ...argument },
    value: { ...valueOf(settingValue, 'VALUE', 'its new value'), ...argument },
    file: configFile,
    diff: aSwitch('print only the lines that change'),
  },
  role: 'read',
  run: async ({ examine }, { place, value, file, diff }) => {
    const { editedText } = await import('../../config/edit/edit.ts')
    const { unifiedDiff } = await import('../../config/edit/unified-diff.ts')
    const before = file.read()
    const text = editedText(before, { [place]: value })
    await examine({ name: file.name, read: () => text })
    const changes = unifiedDiff(before, text, { name: file.name, isAround: false })
    return { file: file.name, text, diff: changes, isDiff: diff === true }
  },
  json: ({ file, text, diff }) => ({ file, text, diff }),
  text: ({ text, diff, isDiff }) => (isDiff ? diff : text).replace(/\r?\n$/, ''),
})
