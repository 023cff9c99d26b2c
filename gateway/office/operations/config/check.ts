import { latestDays } from '../../../front/counts/usage.ts'
import { impactOf } from '../../foresight/impact.ts'
import { findingLine, type Finding } from '../../config/finding.ts'
import type { InForce, Context } from '../context.ts'
import { dayCount, oneOf } from '../kinds.ts'
import { operation, type AnswerOf } from '../operation.ts'
import { configTypes } from '../parameters.ts'
import { listedQuotas } from '../plans/parameters.ts'
import { affectedKeys, type AffectedKeys } from './affected.ts'
import { checkJson, checkText, loadToCheck } from './load-to-check.ts'
import { existsSync } from 'node:fs'
import type { Preview } from '../../config/preview.ts'

export const checkConfig = operation({
  name: 'config check',
  at: ['POST /admin/config/check'],
  summary: 'Check a configuration; exit code 2 with its mistakes if it has any',
  details:
    'FILE may be - for standard input. For a CI: --json prints mistakes and warnings with file, line, column, place and message, ' +
    'whatever was found. Where the variables of production aren’t set, --unset ok takes each that is missing for any value ' +
    'that could stand there, and tells them.',
  parameters: {
    file: { isConfig: true, types: configTypes },
    impact: {
      kind: dayCount,
      value: 'N',
      help: 'show who the changed limits would have refused in this many days',
      isOfApi: true,
    },
    unset: {
      kind: oneOf(['ok']),
      value: 'WORD',
      help: 'what variables are that aren’t set and have no default; otherwise each is a mistake',
      isOfCommand: true,
    },
  },
  role: 'read',
  takesLong: () => true,
  load: loadToCheck,
  run: async (context, { file, impact: days, unset }) => {
    const { config, examine, stores, clock, flush, operator } = context
    const inForce = await context.inForce?.()
    const { preview, mistakes, more } = await examine(file)
    const unknown = preview ? await unknownExtensions(context, preview) : []
    const ofStore = preview ? await storeWarnings(context) : []
    const findings: Finding[] = [...(preview?.findings ?? []), ...unknown, ...ofStore]
    const checked = {
      file: file.name,
      shown: preview?.shown,
      mistakes,
      more,
      found: findings,
      unset,
    }
    // A command has no configuration in force to compare with; `config diff` asks a gateway.
    if (inForce === undefined) return { ...checked, compared: undefined }
    const mayRead = config.admin.save && operator?.role === 'all'
    const lines = mayRead ? { diff: await diffOf(inForce, file.read()) } : {}
    if (preview === undefined) {
      const affected: AffectedKeys = { keys: {}, refused: {} }
      return { ...checked, compared: { differences: [], ...affected, ...lines } }
    }
    const { shown, plans } = preview
    const { differencesOf } = await import('../../config/diff.ts')
    const differences = differencesOf(inForce.shown, shown)
    const affected = await affectedKeys(() => stores().keys, differences, plans)
    const compared = { differences, ...affected, ...lines }
    if (days === undefined) return { ...checked, compared }
    await flush()
    const range = { ...latestDays(days, clock()), nowMs: clock(), limit: listedQuotas }
    const impact = await impactOf(stores(), config.plans, plans, range)
    return { ...checked, compared: { ...compared, impact } }
  },
  json: ({ file, mistakes, more, found, unset, compared }) => {
    if (compared === undefined) return checkJson(file, found, unset && [])
    const warnings = found.map(findingLine)
    return { sound: mistakes.length === 0, mistakes, more, warnings, ...compared }
  },
  text: ({ file, shown, found }) => checkText(file, found, shown),
})

/** The lines in which a text differs from the one in force. */
async function diffOf({ file: name, text }: InForce, after: string): Promise<string> {
  const { unifiedDiff } = await import('../../config/edit/unified-diff.ts')
  return unifiedDiff(text, after, { name, isAround: true })
}

/** The answer of a gateway, which has a configuration in force. */
export type CheckedConfig = Extract<AnswerOf<typeof checkConfig>, { differences: unknown }>

/** Warnings about the Redis of a configuration. There are none while it can't be asked. */
async function storeWarnings({
  config,
  stores,
}: Pick<Context, 'config' | 'stores'>): Promise<readonly Finding[]> {
  if (!config.store.redis) return []
  try {
    const opened = stores()
    // Of a store that can't be used, the warnings say why.
    await opened.ready().catch(() => undefined)
    const about = { file: null, line: null, column: null, place: 'store.redis', isWarning: true }
    return opened.warnings.map((message) => ({ ...about, message }))
  } catch {
    return []
  }
}

/**
 * Warnings of extensions for keys and accounts that the store doesn't have. There are none while the store can't be
 * asked, or isn't there yet: a check of a file works without it.
 */
async function unknownExtensions(
  { config, stores, desks }: Context,
  { extended, warningsOf }: Preview,
): Promise<readonly Finding[]> {
  const { redis, file } = config.store
  if (extended.length === 0 || (!redis && !existsSync(file))) return []
  try {
    const remarks: [Preview['extended'][number]['path'], string][] = []
    for (const { path, key, account } of extended) {
      if (key !== undefined && !(await stores().keys.get(key))) {
        remarks.push([path, `is the id of no key: ${key}`])
      }
      if (account !== undefined && (await desks().keys.countOf(account)) === 0) {
        remarks.push([path, `is the account of no key: ${account}`])
      }
    }
    return warningsOf(remarks)
  } catch {
    return []
  }
}
