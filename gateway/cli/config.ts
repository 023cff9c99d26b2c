import { adminTokensFrom, type AdminTokens } from '../admin/token.ts'
import { differencesOf, type Difference } from '../config/diff.ts'
import { readConfig } from '../config/load.ts'
import { configText } from '../config/show.ts'
import { text, UsageError, type Command, type Context } from './command.ts'
import { aligned } from './table.ts'

/** The commands with which operators look at a configuration before a gateway does. */
export const configCommands: readonly Command[] = [
  {
    name: 'config check',
    args: ['[FILE]'],
    summary: 'Tell whether a configuration is sound; exit code 2 with every mistake if not',
    run: ({ configFile: file, config }) => {
      const { plans, routes, upstreams } = config
      const counted = [
        counting(plans.size, 'plan'),
        counting(routes.length, 'route'),
        counting(upstreams.size, 'upstream'),
      ].join(', ')
      return Promise.resolve({ text: `${file} is sound: ${counted}.`, json: { file, sound: true } })
    },
  },
  {
    name: 'config show',
    args: ['[FILE]'],
    summary: 'Show a configuration as it works: complete with defaults, without secrets',
    run: ({ shown }) => Promise.resolve({ text: configText(shown).trimEnd(), json: shown }),
  },
  {
    name: 'config diff',
    args: ['[FILE]'],
    summary: 'Tell what a configuration would change against the running gateway, or another file',
    details:
      'Asks the running gateway at its admin address, with ADMIN_TOKEN. Exit code 0, whether it changes anything or not.',
    options: { against: { value: 'FILE', help: 'compare with this file instead' } },
    run: async (context, input) => {
      const { shown, configFile: file } = context
      const other = text(input, 'against')
      const before = other === undefined ? await running(context) : readConfig(other).shown
      const differences = differencesOf(before, shown)
      const keys = await affectedKeys(context, differences)
      return { text: inWords(file, differences, keys), json: { differences, keys } }
    },
  },
]

/** What the gateway at the admin address of the configuration goes by. */
async function running({ config, adminToken }: Context): Promise<unknown> {
  const { host, port } = config.admin
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const otherwise = 'Compare two files with --against FILE.'
  const [token] = tokensFrom(adminToken)
  if (!token) {
    throw new UsageError(`ADMIN_TOKEN is not set, and the gateway at ${url} wants it. ${otherwise}`)
  }
  const answer = await fetch(`${url}/admin/config`, {
    headers: { authorization: `Bearer ${token.token}` },
  }).catch((error: unknown) => {
    throw new Error(`no gateway answers at ${url}. ${otherwise}`, { cause: error })
  })
  if (!answer.ok) throw new Error(`the gateway at ${url} answers ${answer.status}. ${otherwise}`)
  return ((await answer.json()) as { config: unknown }).config
}

function tokensFrom(setting: string | undefined): AdminTokens {
  try {
    return adminTokensFrom(setting)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** How many keys have each plan whose limits or bans would be others. */
async function affectedKeys(
  { stores }: Context,
  differences: readonly Difference[],
): Promise<Record<string, number>> {
  const plans = new Set(
    differences.flatMap(({ place }) => /^plans\.([^.]+)/.exec(place)?.slice(1) ?? []),
  )
  const keys: Record<string, number> = Object.fromEntries([...plans].map((plan) => [plan, 0]))
  if (plans.size === 0) return keys
  for await (const { plan } of stores().keys.list()) {
    if (plans.has(plan)) keys[plan] = (keys[plan] ?? 0) + 1
  }
  return keys
}

function inWords(
  file: string,
  differences: readonly Difference[],
  keys: Readonly<Record<string, number>>,
): string {
  if (differences.length === 0) return `${file} changes nothing.`
  const rows = differences.map(({ place, before, after }) => [place, before, after])
  const counts = Object.entries(keys).map(
    ([plan, count]) => `${count} ${count === 1 ? 'key has' : 'keys have'} the plan ${plan}.`,
  )
  return [
    aligned([['SETTING', 'NOW', 'THEN'], ...rows]),
    ...(counts.length > 0 ? [''] : []),
    ...counts,
  ].join('\n')
}

function counting(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
