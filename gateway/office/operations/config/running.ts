import { timeText } from '../../../../shared/times.ts'
import type { Reloader } from '../../config/reload.ts'
import { configText } from '../../config/show.ts'
import { ofGateway, type AnswerOf } from '../operation.ts'
import { howToSave, saveFault, savingOf } from './savable.ts'

export const runningConfig = ofGateway({
  name: 'config running',
  at: ['GET /admin/config'],
  summary: 'Show the configuration in force in the running gateway, and mistakes of its file',
  parameters: {},
  role: 'read',
  run: async (context) => {
    const inForce = await configInForce(context.reloader)
    const saving = savingOf(context.config, inForce.config)
    const unsavable = saving.on ? ((await saveFault(context)) ?? null) : howToSave(saving)
    return { ...inForce, saving, unsavable }
  },
  text: ({ saving, ...inForce }) =>
    `${stateText(inForce)}\n${saving.why}.\n\n${configText(inForce.config).trimEnd()}`,
})

export type RunningConfig = AnswerOf<typeof runningConfig>

/** The configuration in force, and the mistakes of the file as it is now. */
export async function configInForce({ state, desk }: Reloader) {
  const { file, hash, loadedAtMs, mistakes } = state
  return {
    file,
    hash,
    loadedAt: new Date(loadedAtMs).toISOString(),
    mistakes: mistakes?.split('\n') ?? [],
    ...(await desk('view')),
  }
}

export type ConfigInForce = Awaited<ReturnType<typeof configInForce>>

/** The file and time of the configuration in force, and the mistakes that keep a later one out. */
export function stateText({ file, hash, loadedAt, mistakes, warnings }: ConfigInForce): string {
  const since = timeText(Date.parse(loadedAt))
  return [
    ...warnings,
    `The gateway uses ${file} (${hash}), since ${since}.`,
    ...(mistakes.length > 0 ? ['It refuses the file as it is now:', ...mistakes] : []),
  ].join('\n')
}
