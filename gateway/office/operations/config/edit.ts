import { withMore } from '../../../../shared/and-more.ts'
import { newSettings } from '../kinds.ts'
import { ofGateway, type AnswerOf } from '../operation.ts'

export const editConfig = ofGateway({
  name: 'config edit',
  at: ['POST /admin/config/edit'],
  summary: 'Show how the running gateway’s file would change with other settings',
  details:
    'Nothing is written: config save does that. Only lines of the values change, and comments stay; in a file of an ' +
    'unusual layout spaces may change elsewhere. Without admin.save, the lines that change are shown without the lines around them.',
  parameters: {
    set: {
      kind: newSettings,
      value: 'SETTINGS',
      help: 'such as \'{ "plans.free.perHour": 400 }\'; null removes a setting',
      isRequired: true,
    },
  },
  role: 'all',
  run: async ({ reloader, config }, { set }) => {
    const { file, hash } = reloader.state
    const mayRead = config.admin.save
    const { text, ...edited } = await reloader.desk('edit', set, mayRead)
    return { file, hash, ...(mayRead ? { text } : {}), ...edited }
  },
  text: ({ diff, mistakes, more, warnings }) =>
    [...withMore(mistakes, more), ...warnings, diff.trimEnd() || 'This changes nothing.'].join(
      '\n',
    ),
})

export type EditedConfig = AnswerOf<typeof editConfig>
