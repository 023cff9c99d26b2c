import { withCommas } from '../../../shared/commas.ts'
import { Refusal } from '../../../shared/refusal.ts'
import { shortest, windows, type Window } from '../../../shared/windows.ts'
import { limitOf, noLimits, type Limits } from './limits.ts'
import type { Part } from './parts.ts'

/** Why a request is forbidden: a restriction of its plan or its key, or a cost over the key's limits. */
export type Forbidden = 'plan' | 'method' | 'path' | 'address' | 'origin' | 'scope' | 'cost'

const secondsUntilBack = '5'

/** A request that its plan, its key or its cost forbids. */
export function forbidden(why: Exclude<Forbidden, 'scope'>, cost = 0, tooDear?: TooSmall): Refusal {
  if (why === 'cost') return tooExpensive(cost, tooDear)
  return new Refusal('forbidden', forbiddenSentences[why]).because(why)
}

const otherOperations =
  'Your key is not for this operation: it is restricted to other methods or paths.'
const forbiddenSentences = {
  plan: "Your plan doesn't include this operation.",
  method: otherOperations,
  path: otherOperations,
  address: 'Your key is not for this address: it is restricted to others.',
  origin: 'Your key is for pages of other origins.',
}

type TooSmall = Readonly<{ window: Window; limits: Limits }>

/** The shortest window that never has room for so many points. */
export function tooSmall(
  cost: number,
  ofQuota: Limits,
  parts: readonly Part[] | undefined,
): TooSmall | undefined {
  for (const limits of [ofQuota, ...(parts ?? []).map((part) => part.limits)]) {
    const window = windows.find((each) => cost > limitOf(limits, each))
    if (window) return { window, limits }
  }
  return undefined
}

function tooExpensive(cost: number, tooDear: TooSmall | undefined): Refusal {
  const { window = shortest, limits = noLimits } = tooDear ?? {}
  const [points, allowed] = [cost, limitOf(limits, window)].map(withCommas)
  return new Refusal(
    'forbidden',
    `This request costs ${points} points; your limit is ${allowed} ${window.each}.`,
  ).because('cost')
}

/** A store that can't decide. */
export function unavailable(): Refusal {
  const sentence = `Limits can't be checked just now. Try again in ${secondsUntilBack} seconds.`
  const headers = { 'retry-after': secondsUntilBack }
  return new Refusal('service_unavailable', sentence, headers).because('store')
}
