import { adminTokensFrom, noToken, type AdminTokens } from '../admin/token.ts'
import { differencesOf, type Difference } from '../config/diff.ts'
import { readConfig } from '../config/load.ts'
import { configText, valueText } from '../config/show.ts'
import { effectiveLimits } from '../limits/limits.ts'
import { text, UsageError, type Command, type Context } from './command.ts'
import { aligned } from './table.ts'

/** The commands with which operators look at a configuration before a gateway does. */
export const configCommands: readonly Command[] = [
  {
    name: 'config check',
    args: ['[FILE]'],
    summary: 'Tell whether a configuration is sound; exit code 2 with every mistake if not',
    details: 'FILE may be - for standard input.',
    run: async ({ configFile: file, config, preview }) => {
      // With Fastify and its proxy, which no other command needs.
      const { requireServable } = await import('../routes.ts')
      await requireServable(preview)
      const { plans, routes, upstreams } = config
      const counted = [
        counting(plans.size, 'plan'),
        counting(routes.length, 'route'),
        counting(upstreams.size, 'upstream'),
      ].join(', ')
      const { warnings } = preview
      return {
        text: [...warnings, `${file} is sound: ${counted}.`].join('\n'),
        json: { file, sound: true, warnings },
      }
    },
  },
  {
    name: 'config show',
    args: ['[FILE]'],
    summary: 'Show a configuration as it works: complete with defaults, without secrets',
    run: ({ preview: { shown } }) =>
      Promise.resolve({ text: configText(shown).trimEnd(), json: shown }),
  },
  {
    name: 'config diff',
    args: ['[FILE]'],
    summary: 'Tell what a configuration would change against the running gateway, or another file',
    details:
      'Asks the running gateway at its admin address, with ADMIN_TOKEN. Exit code 0, whether it changes anything or not.',
    options: { against: { value: 'FILE', help: 'compare with this file instead' } },
    run: async (context, input) => {
      const { preview, configFile: file } = context
      const other = text(input, 'against')
      const before = other === undefined ? await running(context) : readConfig(other).shown
      const differences = differencesOf(before, preview.shown)
      const { keys, refused } = await affectedKeys(context, differences)
      return {
        text: inWords(file, differences, keys, refused),
        json: { differences, keys, refused },
      }
    },
  },
]

/** What the gateway at the admin address of the configuration goes by. */
async function running({ config, adminToken }: Context): Promise<unknown> {
  const { host, port } = config.admin
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const otherwise = 'Compare two files with --against FILE.'
  const [token] = tokensFrom(adminToken)
  const headers = token ? { authorization: `Bearer ${token.token}` } : undefined
  const answer = await fetch(`${url}/admin/config`, headers ? { headers } : {}).catch(
    (error: unknown) => {
      throw new Error(`no gateway answers at ${url}. ${otherwise}`, { cause: error })
    },
  )
  const body = await answer.text()
  if (answer.ok) return (JSON.parse(body) as { config: unknown }).config
  if (answer.status === 403 && body.includes(noToken)) {
    throw new UsageError(
      `the gateway at ${url} was started without ADMIN_TOKEN, and tells nobody its configuration: set it ` +
        `where the gateway starts, and here. ${otherwise}`,
    )
  }
  if (!token) {
    throw new UsageError(
      `ADMIN_TOKEN is not set here, and the gateway at ${url} wants the one that it was started with. ${otherwise}`,
    )
  }
  throw new Error(`the gateway at ${url} answers ${answer.status}. ${otherwise}`)
}

function tokensFrom(setting: string | undefined): AdminTokens {
  try {
    return adminTokensFrom(setting)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

type Counts = Readonly<Record<string, number>>

/** How many keys have each plan that would be another, and how many of them would have none that fits. */
async function affectedKeys(
  { stores, config }: Context,
  differences: readonly Difference[],
): Promise<{ keys: Counts; refused: Counts }> {
  const plans = new Set(
    differences.flatMap(({ place }) => /^plans\.([^.]+)/.exec(place)?.slice(1) ?? []),
  )
  const none = (): Record<string, number> => Object.fromEntries([...plans].map((plan) => [plan, 0]))
  const [keys, refused] = [none(), none()]
  if (plans.size === 0) return { keys, refused }
  for await (const { plan: name, limits } of stores().keys.list()) {
    if (!plans.has(name)) continue
    const plan = config.plans.get(name)
    const isRefused = plan === undefined || effectiveLimits(plan, limits) === undefined
    keys[name] = (keys[name] ?? 0) + 1
    if (isRefused) refused[name] = (refused[name] ?? 0) + 1
  }
  return { keys, refused }
}

function inWords(
  file: string,
  differences: readonly Difference[],
  keys: Counts,
  refused: Counts,
): string {
  if (differences.length === 0) return `${file} changes nothing.`
  const rows = differences.map(({ place, before, after, needsRestart }) => [
    place,
    ...[before, after].map((value) => (value === null ? '-' : valueText(value))),
    needsRestart ? 'needs a restart' : '',
  ])
  const counts = Object.entries(keys).map(([plan, count]) => {
    const gone = refused[plan] ?? 0
    const have = count === 1 ? 'key has' : 'keys have'
    const told = `${count} ${have} the plan ${plan}`
    return gone === 0 ? `${told}.` : `${told}: ${counting(gone, 'key')} will be refused.`
  })
  return [
    aligned([['SETTING', 'NOW', 'THEN'], ...rows]),
    ...(counts.length > 0 ? [''] : []),
    ...counts,
  ].join('\n')
}

function counting(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
