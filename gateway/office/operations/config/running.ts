import { withMore } from '../../../../shared/and-more.ts'
import { timeText } from '../../../../shared/times.ts'
import type { ConfigDesk } from '../../config/desk.ts'
import type { ConfigState, Reloader } from '../../config/reload.ts'
import { configText } from '../../config/show.ts'
import { ofGateway, type AnswerOf } from '../operation.ts'
import { Written } from '../written.ts'
import { howToSave, saveFault, savingOf } from './savable.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'

export const runningConfig = ofGateway({
  name: 'config running',
  at: ['GET /admin/config'],
  summary: 'Show the configuration in force in the running gateway, and mistakes of its file',
  parameters: {},
  role: 'read',
  run: async (context) => {
    const saving = await savingOf(context)
    const unsavable = saving.on ? ((await saveFault(context)) ?? null) : howToSave(saving)
    return inForce(context.reloader, { saving, unsavable })
  },
  text: ({ saving, ...inForce }) =>
    `${stateText(inForce)}\n${saving.why}.\n\n${configText(inForce.config).trimEnd()}`,
})

export type RunningConfig = AnswerOf<typeof runningConfig>

type State = Readonly<{
  file: string
  hash: string
  loadedAt: string
  mistakes: readonly string[]
  /** The number of further mistakes, if there are any. */
  more?: number | undefined
}>

/** The configuration in force, and the mistakes of the file as it is now. */
export type ConfigInForce = State & ReturnType<ConfigDesk['view']>

/** The same as an answer, beside what else it says. */
export async function inForce<Beside extends object>(
  { state, desk }: Pick<Reloader, 'state' | 'desk'>,
  beside: Beside,
): Promise<Written<Beside & ConfigInForce>> {
  const { file, hash, loadedAtMs } = state
  const loadedAt = new Date(loadedAtMs).toISOString()
  const mistakes = state.mistakes?.split('\n') ?? []
  const own: State = { file, hash, loadedAt, mistakes, more: state.more }
  return new Written(await desk('writtenView', { ...beside, ...own }))
}

/** The mistakes of a file that isn't in force, in a sentence. */
export function mistakesIn({ mistakes = '', more }: ConfigState): string {
  return withMore(mistakes.split('\n'), more).join('; ')
}

/** The file and time of the configuration in force, and the mistakes that keep a later one out. */
export function stateText(inForce: ConfigInForce): string {
  const { file, hash, loadedAt, mistakes, more, warnings } = inForce
  const since = timeText(Date.parse(loadedAt))
  return [
    ...warnings,
    `Running ${file} (${hash}) since ${since}.`,
    ...(mistakes.length > 0 ? ['It refuses the current file:', ...withMore(mistakes, more)] : []),
  ].join('\n')
}

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
