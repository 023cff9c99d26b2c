import {
  isUpTo,
  limitFrom,
  limitSettings,
  mostLimit,
} from '../../../front/limits/limit-settings.ts'
import { limitNames, windows, type Window } from '../../../../shared/windows.ts'
import { nearest } from '../../../../shared/near.ts'
import type { Path } from '../mistake.ts'
import { planSections } from './entries.ts'
import {
  list,
  mistake,
  section,
  warning,
  type Quote,
  type Remark,
  type Section,
} from './remarks.ts'

/** The sections of a file that have limits, without shadows, which are never above theirs. */
function limitSections(file: Section): [Path, Section][] {
  return [...planSections(file), [['strangers'], section(file['strangers'])]]
}

/** A limit has at most 15 digits. */
export function* digitRemarks(file: Section, quote: Quote): Generator<Remark> {
  for (const [setting, limits] of limitSections(file)) {
    for (const window of limitNames) {
      const { limit = limits[window] } = section(limits[window])
      if (typeof limit !== 'number' || limit <= mostLimit) continue
      const path = [...setting, window, ...(limit === limits[window] ? [] : ['limit'])]
      const sentence = `must have at most 15 digits, or be "unlimited", got ${quote(path)}`
      yield mistake(path, sentence)
    }
  }
}

/** Warns of a window that is larger than a longer one: its limit is never reached. */
export function* limitRemarks(file: Section, quote: Quote): Generator<Remark> {
  for (const [setting, limits] of limitSections(file)) {
    for (const [i, window] of windows.entries()) {
      const longer = windows.slice(i + 1).find((each) => isNeverReached(limits, window, each))
      if (!longer) continue
      const sentence = `is never reached: ${longer.limit} is ${quote([...setting, longer.limit])}`
      yield warning([...setting, window.limit], sentence)
    }
  }
}

/** The limit that refuses in the end, where points are metered beyond those that are included. */
function refusing(setting: unknown): unknown {
  const { limit, beyond, upTo } = section(setting)
  if (beyond === 'prepaid') return 'unlimited'
  if (
    !Number.isSafeInteger(limit) ||
    typeof limit !== 'number' ||
    typeof upTo !== 'string' ||
    !isUpTo(upTo)
  )
    return setting
  const most = limitFrom({ limit, beyond: 'meter', upTo }) ?? Infinity
  return most === Infinity ? 'unlimited' : most
}

/** Whether a window's limit is above that of a longer one. One that is left out may be unlimited without a word. */
function isNeverReached(limits: Section, window: Window, longer: Window): boolean {
  const [limit, other] = [refusing(limits[window.limit]), refusing(limits[longer.limit])]
  if (typeof other !== 'number') return false
  if (limit === 'unlimited') return window.isRequired && longer.isRequired
  return typeof limit === 'number' && limit > other
}

/** What was bought is taken in one window of a plan, and none is metered beside it. */
export function* prepaidRemarks(file: Section): Generator<Remark> {
  for (const [name, plan] of Object.entries(section(file['plans']))) {
    const limits = section(plan)
    const beyondOf = ({ limit }: Window): unknown => section(limits[limit])['beyond']
    const prepaid = windows.find((window) => beyondOf(window) === 'prepaid')
    const other = windows.find((window) => window !== prepaid && beyondOf(window) !== undefined)
    if (!prepaid || !other) continue
    const sentence = `can't be ${beyondOf(other) === 'prepaid' ? 'prepaid' : 'metered'} beside ${prepaid.limit}, which is prepaid: one window of a plan is`
    yield mistake(['plans', name, other.limit], sentence)
  }
}

/** A shadow that is looser than its limit would never count. */
export function* shadowRemarks(file: Section, quote: Quote): Generator<Remark> {
  for (const [name, plan] of Object.entries(section(file['plans']))) {
    const limits = section(plan)
    const shadow = section(limits['shadow'])
    for (const window of limitNames) {
      const [limit, lower] = [refusing(limits[window]), shadow[window]]
      const isLooser = typeof limit === 'number' && (lower === 'unlimited' || Number(lower) > limit)
      if (!isLooser) continue
      const written = quote(['plans', name, window])
      const sentence = `must not be above the limit that it is a shadow of: ${window} is ${written}`
      yield mistake(['plans', name, 'shadow', window], sentence)
    }
  }
}

/**
 * A plan has a limit, though it may be `unlimited`. Warns of plans with the name of a section: a section indented by mistake
 * looks like a plan.
 */
export function* planRemarks(file: Section, sections: readonly string[]): Generator<Remark> {
  for (const [name, plan] of Object.entries(section(file['plans']))) {
    const isWritten = typeof plan === 'object' && plan !== null
    if (
      isWritten &&
      !Object.keys(plan).some((each) => nearest(each, ['limits', ...limitSettings]))
    ) {
      yield mistake(['plans', name], `needs a limit: one of ${limitSettings.join(', ')}`)
    }
    if (!sections.includes(name)) continue
    const sentence = `is a plan with the name of a section; if the section is meant, indent it as far as plans`
    yield warning(['plans', name], sentence)
  }
}

/** A route's cost must be within the limits of some plan, and should be within those of all. */
export function* costRemarks(file: Section, quote: Quote): Generator<Remark> {
  const plans = Object.entries(section(file['plans'])).map(([name, plan]) => ({
    name,
    ...leastOf(section(plan)),
  }))
  if (plans.length === 0) return
  for (const [i, route] of list(file['routes']).entries()) {
    const { cost: written } = section(route)
    const { estimate: cost = written, atMost } = section(written)
    if (typeof cost !== 'number') continue
    if (cost === 0 && 'estimate' in section(written) && atMost === undefined) {
      const sentence =
        'needs an atMost beside an estimate of 0: the most points that a request costs'
      yield mistake(['routes', i, 'cost'], sentence)
    }
    if (typeof atMost === 'number' && atMost < cost) {
      yield mistake(['routes', i, 'cost', 'atMost'], `is less than the estimate of ${cost}`)
    }
    const poor = plans.filter(({ points }) => points < cost)
    const plansText = poor.map(({ name, window }) => {
      return `${name} has ${quote(['plans', name, window.limit])} ${window.each}`
    })
    const setting = ['routes', i, 'cost'] as const
    if (poor.length === plans.length) {
      yield mistake(setting, `is more than any plan allows: ${plansText.join(', ')}`)
    } else if (poor.length > 0) {
      yield warning(
        setting,
        `is more than some plans allow, whose keys get 403: ${plansText.join(', ')}`,
      )
    }
  }
}

/** The window of a plan that allows the least. Limits that are unknown, mistaken, or each key's own count as infinite. */
function leastOf(limits: Section): { window: Window; points: number } {
  const pointsOf = ({ limit }: Window): number => {
    const points = refusing(limits[limit])
    return typeof points === 'number' && points >= 1 ? points : Infinity
  }
  const window = windows.reduce((least, each) => (pointsOf(each) < pointsOf(least) ? each : least))
  return { window, points: pointsOf(window) }
}
