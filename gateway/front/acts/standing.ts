import { Refusal } from '../../../shared/refusal.ts'
import { banned, nearEnd, usedUp } from '../limits/acted.ts'
import type { Standing } from '../limits/headers.ts'
import { isWindowName, windowOf } from '../../../shared/windows.ts'
import type { Terms } from '../keys/terms.ts'
import { actNames, type Act } from './act.ts'

/** A ban of a plan without bans lasts as an operator says. */
const usualBanMs = 300_000

/**
 * The standing that a wish pretends, by which the request is decided as by a real one: the real standing for a wish that
 * isn't about limits. A refusal for a wish that can't be acted.
 */
export function actedStanding(
  act: Act,
  real: Standing,
  terms: Terms,
  cost: number,
): Standing | Refusal {
  const { name } = act
  if (name === undefined) return unknown()
  if (isWindowName(name)) {
    const window = windowOf(name)
    const acted = usedUp(real, window, Math.max(1, cost))
    return acting(act, acted) ?? never(`has no limit ${window.each}`)
  }
  if (name === 'ban') return acting(act, banned(real, terms.bans?.forMs ?? usualBanMs))
  if (name !== 'near_limit') return real
  return (
    acting(act, nearEnd(real, terms.near)) ?? never('is never told that its day or month ends soon')
  )
}

function acting<Acted extends Standing | undefined>(act: Act, standing: Acted): Acted {
  act.isActed = standing !== undefined
  return standing
}

function unknown(): Refusal {
  const all = actNames.map((name) => (name === 'slow' ? 'slow=3s (up to 10s)' : name))
  return new Refusal('invalid_request', `X-Gateway-Act can be ${all.join(', ')}.`)
}

function never(why: string): Refusal {
  const sentence = `X-Gateway-Act can't simulate this refusal for your key: it ${why}.`
  return new Refusal('invalid_request', sentence)
}
