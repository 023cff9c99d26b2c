import { simulationView } from '../../foresight/replay/simulation-view.ts'
import { anyText } from '../kinds.ts'
import { ofCommandLine, WrongInput } from '../operation.ts'
import { aSwitch, textOf } from '../parameters.ts'
import { listedQuotas, planOf } from '../plans/parameters.ts'
import { simulationText } from './texts.ts'

export const simulate = ofCommandLine({
  name: 'simulate',
  because: 'it reads logs of this machine, and takes a processor for as long as they are',
  summary: 'Replay logs, and tell what the limits of a configuration would have done',
  details:
    'Each LOG has the JSON lines of gateways, or lines of another system: JSON, or CSV with a line of column names. - is ' +
    'standard input. Logs of several gateways are merged by time. The plans, limits and bans are those of --config; ' +
    'accounts, and limits of keys’ own, come from its store.',
  parameters: {
    logs: {
      kind: anyText,
      value: 'LOG',
      help: 'the logs to replay',
      isArgument: true,
      isRequired: true,
      many: true,
    },
    against: textOf('FILE', 'show this configuration beside it'),
    time: textOf('COLUMN', 'of another system: the column, or member, of the time'),
    key: textOf('COLUMN', 'of another system: that of the id of the key'),
    cost: textOf('COLUMN', 'of another system: that of the points; 1 without it'),
    plan: textOf('PLAN', 'the plan of keys whose plan neither the log nor the store names'),
    withoutStore: aSwitch(
      'do not look keys up: each has a quota of its own, by the plan of its lines',
    ),
  },
  role: 'read',
  run: async (context, { logs, against, time, key, cost, plan, withoutStore = false }) => {
    const { config, configFile, stores } = context
    if (logs.filter((log) => log === '-').length > 1) throw new WrongInput('- is given twice')
    if (plan !== undefined) planOf(config, plan)
    const { readConfig } = await import('../../config/load.ts')
    const { simulation } = await import('../../foresight/replay/simulation.ts')
    const other = against === undefined ? undefined : readConfig(against).config
    const simulated = await simulation({
      logs,
      columns: { time, key, cost },
      rules: config,
      against: other,
      plan,
      keys: withoutStore ? undefined : stores().keys,
    })
    const view = simulationView(simulated, listedQuotas)
    return { config: configFile, against: against ?? null, ...view }
  },
  text: simulationText,
})
