import { latestDays } from '../../../front/counts/usage.ts'
import { impactOf, type Plans } from '../../foresight/impact.ts'
import type { CommandContext } from '../context.ts'
import { ofCommandLine, WrongInput } from '../operation.ts'
import { aSwitch, configFile, textOf } from '../parameters.ts'
import { listedQuotas, recentDays } from '../plans/parameters.ts'
import { previewText } from '../plans/texts.ts'
import { affectedKeys } from './affected.ts'
import { differencesText } from './differences.ts'
import type { ConfigInForce } from './running.ts'

export const diffConfig = ofCommandLine({
  name: 'config diff',
  because: 'it reads files of this machine; POST /admin/config/check compares a text',
  summary: 'Show what a configuration would change in the running gateway, or against another file',
  details:
    'Asks the running gateway at its admin address, with ADMIN_TOKEN. Exit code 0 with or without differences; with ' +
    '--fail-if-hit 1 if a changed limit would have refused a quota.',
  parameters: {
    file: configFile,
    against: textOf('FILE', 'compare with this file instead'),
    impact: aSwitch('show who the changed limits would have refused lately'),
    days: { ...recentDays, help: 'how many days back --impact looks, today included' },
    failIfHit: aSwitch('with --impact: exit with 1 if a quota would have been refused'),
  },
  role: 'read',
  run: async (context, { against, impact = false, days, failIfHit = false }) => {
    if (failIfHit && !impact) throw new WrongInput('--fail-if-hit needs --impact')
    const { differencesOf } = await import('../../config/diff.ts')
    const { config, preview, stores, clock } = context
    const before = await sideBefore(context, against)
    const differences = differencesOf(before.shown, preview.shown)
    const affected = await affectedKeys(() => stores().keys, differences, preview.plans)
    const range = { ...latestDays(days, clock()), nowMs: clock(), limit: listedQuotas }
    const previews = impact
      ? await impactOf(stores(), before.plans, config.plans, range)
      : undefined
    return { differences, ...affected, impact: previews, failIfHit }
  },
  json: ({ differences, keys, refused, impact }) => ({ differences, keys, refused, impact }),
  text: ({ differences, keys, refused, impact }, { configFile }) => {
    const compared = differencesText(configFile, differences, {
      ...(keys && { keys }),
      ...(refused && { refused }),
    })
    if (!impact) return compared
    const impactText =
      impact.length > 0 ? impact.map(previewText).join('\n\n') : 'No limit of a plan changes.'
    return `${compared}\n\n${impactText}`
  },
  isRefused: ({ impact = [], failIfHit }) =>
    failIfHit && impact.some(({ hitQuotas }) => hitQuotas > 0),
})

type Before = Readonly<{ shown: unknown; plans: Plans }>

/** The configuration to compare with: another file, or that of the running gateway. */
async function sideBefore(
  { askGateway }: CommandContext,
  against: string | undefined,
): Promise<Before> {
  if (against !== undefined) {
    const { readConfig } = await import('../../config/load.ts')
    const { shown, config } = readConfig(against)
    return { shown, plans: config.plans }
  }
  const advice = 'Compare two files with --against FILE.'
  const running = (await askGateway('GET /admin/config', advice)) as ConfigInForce
  const { plansOf } = await import('../../config/preview.ts')
  return { shown: running.config, plans: plansOf(running.config) }
}
