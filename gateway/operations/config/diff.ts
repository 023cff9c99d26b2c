import { differencesOf } from '../../config/diff.ts'
import { readConfig } from '../../config/load.ts'
import { ofCommandLine } from '../operation.ts'
import { configFile, textOf } from '../parameters.ts'
import { affectedKeys } from './affected.ts'
import { differencesText } from './differences.ts'
import type { ConfigInForce } from './running.ts'

export const diffConfig = ofCommandLine({
  name: 'config diff',
  because: 'it reads files of this machine; POST /admin/config/check compares a text',
  summary: 'Show what a configuration would change in the running gateway, or against another file',
  details:
    'Asks the running gateway at its admin address, with ADMIN_TOKEN. Exit code 0 with or without differences.',
  parameters: {
    file: configFile,
    against: textOf('FILE', 'compare with this file instead'),
  },
  role: 'read',
  run: async ({ preview, stores, clock, askGateway }, { against }) => {
    const running = (): Promise<unknown> =>
      askGateway('GET /admin/config', 'Compare two files with --against FILE.')
    const before =
      against === undefined
        ? ((await running()) as ConfigInForce).config
        : readConfig(against).shown
    const differences = differencesOf(before, preview.shown)
    const affected = await affectedKeys(() => stores().keys, differences, preview.plans, clock())
    return { differences, ...affected }
  },
  text: ({ differences, ...affected }, { configFile }) =>
    differencesText(configFile, differences, affected),
})
