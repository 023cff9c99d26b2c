import { countersFrom, textOf } from '../../limits/counters-text.ts'
import { grantsOf, type Grant, type Granted } from '../../limits/grants.ts'
import { limitName, windows, type WindowName } from '../../../../shared/windows.ts'
import { purseFrom, purseText } from '../../limits/purse.ts'
import type { PartCounters, Parts } from '../../limits/parts.ts'
import type { Conduct } from '../../limits/conduct.ts'
import type { QuotaState } from '../../limits/quota-state.ts'

/** A quota from the fields of its hash, which quota.lua describes; `undefined` if it is damaged. */
export function stateOfHash(fields: Readonly<Record<string, string>>): QuotaState | undefined {
  const counters = countersFrom((fields['c'] ?? '').replace(/,k$/, ''))
  if (!counters) return undefined
  const conducts = new Map<string, Conduct>()
  const settled = new Map<string, number>()
  const parts: Parts = new Map()
  for (const [field, value] of Object.entries(fields)) {
    if (field.startsWith('s:')) settled.set(field.slice(2), Number(value))
    const conduct = field.startsWith('k:') ? conductFrom(value) : undefined
    if (conduct) conducts.set(field.slice(2), conduct)
    const part = /^(?:op|cap|pre):/.test(field) ? countersFrom(value) : undefined
    if (part) parts.set(field, part)
  }
  const purse = purseFrom(fields['u'] ?? '')
  const grants = grantsOf(grantLines(fields['n'] ?? ''), counters.monthFrom)
  return {
    ...counters,
    conducts: conducts.size > 0 ? conducts : undefined,
    ...(grants ? { grants } : {}),
    ...(fields['p'] ? { past: fields['p'] } : {}),
    ...(settled.size > 0 ? { settled } : {}),
    ...(parts.size > 0 ? { parts } : {}),
    ...(fields['b'] ? { beyond: fields['b'] } : {}),
    ...(purse ? { purse } : {}),
    ...(fields['z'] ? { topUps: fields['z'] } : {}),
    ...(fields['r'] ? { resetGeneration: Number(fields['r']) } : {}),
  }
}

/** The fields of a quota's hash: the counters, and the others as pairs. */
export function hashOfState(state: QuotaState): { counters: string; fields: [string, string][] } {
  const fields: [string, string][] = []
  for (const [key, conduct] of state.conducts ?? []) {
    const { refusedAtMs, bannedUntilMs, bans, strikes, strikesSinceMs } = conduct
    const numbers = [refusedAtMs, bannedUntilMs, bans, strikes, strikesSinceMs]
    fields.push([`k:${key}`, numbers.join()])
  }
  for (const [gateway, number] of state.settled ?? []) fields.push([`s:${gateway}`, String(number)])
  if (state.grants) {
    const { sums, each } = state.grants
    const parts = sums.map(({ window, number, points }) => `${window}:${number}:${points},`)
    fields.push(['g', parts.join('')])
    fields.push(['n', each.map((grant) => `${grantLine(grant)}\n`).join('')])
  }
  if (state.past) fields.push(['p', state.past])
  if (state.beyond) fields.push(['b', state.beyond])
  if (state.purse) fields.push(['u', purseText(state.purse)])
  if (state.topUps) fields.push(['z', state.topUps])
  if (state.resetGeneration) fields.push(['r', String(state.resetGeneration)])
  for (const [name, counters] of state.parts ?? []) fields.push([name, textOf(counters)])
  return { counters: textOf(state), fields }
}

function grantLine(grant: Grant): string {
  return `${grant.atMs};${grantPoints(grant)};${grantWords(grant)}`
}

/** The points of a grant as scripts take them: "minute:5,day:10,". */
export function grantPoints(grant: Granted): string {
  const granted = windows.filter(({ limit }) => (grant[limit] ?? 0) > 0)
  return granted.map(({ name, limit }) => `${name}:${grant[limit]},`).join('')
}

export function grantWords({ by, note }: Pick<Grant, 'by' | 'note'>): string {
  return JSON.stringify({ by, note })
}

/** The grants of a field n, the oldest first; damaged lines are left out. */
export function grantLines(text: string): Grant[] {
  return text.split('\n').flatMap((line) => {
    const [, atMs, points = '', words = ''] = /^(\d+);([^;]*);(.*)$/.exec(line) ?? []
    if (atMs === undefined) return []
    try {
      const { by, note } = JSON.parse(words) as Pick<Grant, 'by' | 'note'>
      return [{ atMs: Number(atMs), ...grantedFrom(points), by, note }]
    } catch {
      return []
    }
  })
}

/** Points as scripts tell them: "minute:5,day:10,". */
export function grantedFrom(text: string): Granted {
  const pairs = [...text.matchAll(/(\w+):(\d+)/g)]
  return Object.fromEntries(
    pairs.map(([, name, points]) => [limitName(name as WindowName), Number(points)]),
  )
}

function conductFrom(text: string): Conduct | undefined {
  if (!/^\d+(?:,\d+){4}$/.test(text)) return undefined
  const [refusedAtMs = 0, bannedUntilMs = 0, bans = 0, strikes = 0, strikesSinceMs = 0] = text
    .split(',')
    .map(Number)
  return { refusedAtMs, bannedUntilMs, bans, strikes, strikesSinceMs }
}

/** The counters of parts as scripts take them: "&op:exports=counters", and behind `;` those that a gateway has seen. */
export function packedParts(parts: PartCounters | undefined, seen?: PartCounters): string {
  const texts = [...(parts ?? [])].map(([name, counters]) => {
    const seenPart = seen?.get(name)
    return `&${name}=${textOf(counters)}${seenPart ? `;${textOf(seenPart)}` : ''}`
  })
  return texts.join('')
}
