import type { Counters } from '../../limits/counters.ts'
import { countersFrom, textOf } from '../../limits/counters-text.ts'
import type { Granted } from '../../limits/grants.ts'
import { limitOf, noLimits } from '../../limits/limits.ts'
import { purseFrom, purseText, takenPart, type PurseState } from '../../limits/purse.ts'
import type { Admission, Seen } from '../../limits/quota-state.ts'
import { includedIn, purseOf, type Ask } from '../../limits/step.ts'

/** The purse of a question, or of its report, as quota-more.lua takes it: "place of the window|included|purse seen|part seen"; '' without one. */
export function packedPurse({ prepaid, included = noLimits, owed, seen }: Ask): string {
  if (!prepaid && !owed?.parts?.has(takenPart)) return ''
  return `${prepaid ? `${prepaid.index + 1}|${limitOf(included, prepaid)}` : '0|0'}|${packedSeen(seen)}`
}

/** The purse of an admission as quota-edit.lua takes it. */
export function packedAdmitted({ purse, included, seen }: Admission): string {
  if (!purse) return ''
  const { window, room, took } = purse
  const most = limitOf(included ?? noLimits, window)
  return `${window.index + 1}|${most}|${room}|${took}|${packedSeen(seen)}`
}

function packedSeen(seen: Seen | undefined): string {
  const taken = seen?.parts?.get(takenPart)
  return `${seen?.purse ? purseText(seen.purse) : ''}|${taken ? textOf(taken) : ''}`
}

/** The purse that an answer tells: "bought,spent,topUps,last,took;counters of what was taken", or no counters if nothing was. */
export function purseIn(
  text: string,
  counters: Counters,
  { prepaid, included }: Ask,
  granted: Granted | undefined,
  nowMs: number,
): PurseState | undefined {
  if (!prepaid) return undefined
  const [numbers = '', ofTaken = ''] = text.split(';')
  const end = numbers.lastIndexOf(',')
  const purse = purseFrom(numbers.slice(0, end))
  const taken = countersFrom(ofTaken)
  if (!purse || !(taken ?? ofTaken === '')) throw new Error('Redis gave no purse')
  const parts = taken && new Map([[takenPart, taken]])
  const took = Number(numbers.slice(end + 1))
  const holder = { ...counters, purse, parts }
  return purseOf(holder, prepaid, includedIn({ included }, granted), nowMs, took)
}
