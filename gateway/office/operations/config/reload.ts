import { KeyMistake } from '../../../front/keys/mistake.ts'
import { ofGateway } from '../operation.ts'
import { inForce, mistakesIn, stateText } from './running.ts'

export const reloadConfig = ofGateway({
  name: 'config reload',
  at: ['POST /admin/config/reload'],
  summary: 'Make the running gateway reload its file now',
  details:
    'A gateway follows its file by itself. This tells at once whether the file is in force, and its mistakes if not.',
  parameters: {},
  changes: true,
  role: 'all',
  run: async ({ reloader, by }) => {
    const result = await reloader.reload(by)
    if (result !== 'refused') return inForce(reloader, { result })
    const mistakes = mistakesIn(reloader.state)
    throw new KeyMistake(
      `the file is refused, and the configuration before stays in force: ${mistakes}`,
      'conflict',
    )
  },
  text: ({ result, ...inForce }) =>
    `${result === 'changed' ? 'The file is in force now.' : 'The file changes nothing.'}\n${stateText(inForce)}`,
})
