import { differencesOf } from '../../config/diff.ts'
import { impactOf } from '../../foresight/impact.ts'
import { dayCount } from '../kinds.ts'
import { operation, type AnswerOf } from '../operation.ts'
import { configTypes, dayRange } from '../parameters.ts'
import { listedQuotas } from '../plans/parameters.ts'
import { affectedKeys, type AffectedKeys } from './affected.ts'
import { counting } from './differences.ts'
import { storeWarnings } from './store-warnings.ts'
import { unknownExtensions } from './unknown-extensions.ts'

export const checkConfig = operation({
  name: 'config check',
  at: ['POST /admin/config/check'],
  summary: 'Check a configuration; exit code 2 with every mistake if it has any',
  details: 'FILE may be - for standard input.',
  parameters: {
    file: {
      isConfig: true,
      types: configTypes,
    },
    impact: {
      kind: dayCount,
      value: 'N',
      help: 'tell who the changed limits would have refused in so many days',
      isOfApi: true,
    },
  },
  role: 'read',
  readsMuch: () => true,
  run: async (context, { file, impact: days }) => {
    const { config, examine, stores, clock, flush } = context
    const inForce = await context.inForce?.()
    const { preview, mistakes } = await examine(file)
    const unknown = preview ? await unknownExtensions(context, preview) : []
    const ofStore = preview ? await storeWarnings(context) : []
    const warnings = [...(preview?.warnings ?? []), ...unknown, ...ofStore]
    const checked = { file: file.name, inForce, mistakes, warnings }
    if (preview === undefined || inForce === undefined) {
      const affected: AffectedKeys = { keys: {}, refused: {} }
      return { ...checked, differences: [], ...affected }
    }
    const { shown, plans } = preview
    const lines = { before: inForce.lineOf, after: preview.lineOf }
    const differences = differencesOf(inForce.shown, shown, lines)
    const affected = await affectedKeys(() => stores().keys, differences, plans, clock())
    const compared = { ...checked, differences, ...affected }
    if (days === undefined) return compared
    await flush()
    const range = { ...dayRange(days, clock), nowMs: clock(), limit: listedQuotas }
    return { ...compared, impact: await impactOf(stores(), config.plans, plans, range) }
  },
  json: ({ file, inForce, mistakes, warnings, ...compared }) => {
    const checked = { sound: mistakes.length === 0, mistakes, warnings }
    // A command has no configuration in force to compare with; `config diff` asks a gateway.
    return inForce === undefined ? { file, ...checked } : { ...checked, ...compared }
  },
  text: ({ file, warnings }, { config: { plans, routes, upstreams } }) => {
    const counted = [
      counting(plans.size, 'plan'),
      counting(routes.length, 'route'),
      counting(upstreams.size, 'upstream'),
    ]
    return [...warnings, `${file} is sound: ${counted.join(', ')}.`].join('\n')
  },
})

/** The answer of a gateway, which has a configuration in force. */
export type CheckedConfig = Extract<AnswerOf<typeof checkConfig>, { differences: unknown }>
