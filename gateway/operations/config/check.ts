import { differencesOf } from '../../config/diff.ts'
import { operation } from '../operation.ts'
import { configTypes } from '../parameters.ts'
import { affectedKeys } from './affected.ts'
import { counting } from './differences.ts'
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
  },
  role: 'read',
  run: async (context, { file }) => {
    const { examine, inForce, stores } = context
    const { preview, mistakes } = await examine(file)
    const unknown = preview ? await unknownExtensions(context, preview) : []
    const warnings = [...(preview?.warnings ?? []), ...unknown]
    if (preview === undefined || inForce === undefined) {
      return {
        file: file.name,
        inForce,
        mistakes,
        warnings,
        differences: [],
        keys: {},
        refused: {},
      }
    }
    const { shown, plans } = preview
    const differences = differencesOf(inForce, shown)
    const affected = await affectedKeys(() => stores().keys, differences, plans)
    return { file: file.name, inForce, mistakes, warnings, differences, ...affected }
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
