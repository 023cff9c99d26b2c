import { limitFrom, limitSettings, mostLimit } from '../../../front/limits/limit-settings.ts'
import { limitNames, windows, type Window } from '../../../../shared/windows.ts'
import { nearest } from '../../../../shared/near.ts'
import type { Path } from '../mistake.ts'
import { pointersIn } from '../../../front/limits/answer-cost.ts'
import { section } from '../../../front/http/page/sections.ts'
import { fileSchema } from '../schema.ts'
import { planSections, type PlanSection } from './entries.ts'
import type { KnownFile } from '../defaults.ts'
import { mistake, warning, type Checked, type Remark } from './remarks.ts'

/** The sections of a file that have limits, without shadows, which are never above theirs. */
function limitSections(file: KnownFile): [Path, PlanSection][] {
  return [...planSections(file), [['strangers'], file.strangers ?? {}]]
}

/** A limit has at most 15 digits. */
export function* digitRemarks({ file, quote }: Checked): Generator<Remark> {
  for (const [setting, limits] of limitSections(file)) {
    for (const window of limitNames) {
      const written = limits[window]
      const isSection = typeof written === 'object'
      const limit = isSection ? written.limit : written
      if (typeof limit !== 'number' || limit <= mostLimit) continue
      const path = [...setting, window, ...(isSection ? ['limit'] : [])]
      const sentence = `must have at most 15 digits, or be "unlimited", got ${quote(path)}`
      yield mistake(path, sentence)
    }
  }
}

/** Warns of a window that is larger than a longer one: its limit is never reached. */
export function* limitRemarks({ file, quote }: Checked): Generator<Remark> {
  for (const [setting, limits] of limitSections(file)) {
    for (const [i, window] of windows.entries()) {
      const longer = windows.slice(i + 1).find((each) => isNeverReached(limits, window, each))
      if (!longer) continue
      const sentence = `is never reached: ${longer.limit} is ${quote([...setting, longer.limit])}`
      yield warning([...setting, window.limit], sentence)
    }
  }
}

type Limit = PlanSection[(typeof limitNames)[number]]

/** The limit that refuses in the end, where points are metered beyond those that are included. */
function refusing(setting: Limit): number | 'unlimited' | undefined {
  if (typeof setting !== 'object') return setting
  const { limit, beyond, upTo } = setting
  if (beyond === 'prepaid') return 'unlimited'
  if (!Number.isSafeInteger(limit) || limit === undefined || upTo === undefined) return undefined
  const most = limitFrom({ limit, beyond: 'meter', upTo }) ?? Infinity
  return most === Infinity ? 'unlimited' : most
}

/** Whether a window's limit is above that of a longer one. One that is left out may be unlimited without a word. */
function isNeverReached(limits: PlanSection, window: Window, longer: Window): boolean {
  const [limit, other] = [refusing(limits[window.limit]), refusing(limits[longer.limit])]
  if (typeof other !== 'number') return false
  if (limit === 'unlimited') return window.isRequired && longer.isRequired
  return typeof limit === 'number' && limit > other
}

/** What was bought is taken in one window of a plan, and none is metered beside it. */
export function* prepaidRemarks({ file }: Checked): Generator<Remark> {
  for (const [name, plan = {}] of Object.entries(file.plans ?? {})) {
    const beyondOf = ({ limit }: Window) => {
      const setting = plan[limit]
      return typeof setting === 'object' ? setting.beyond : undefined
    }
    const prepaid = windows.find((window) => beyondOf(window) === 'prepaid')
    const other = windows.find((window) => window !== prepaid && beyondOf(window) !== undefined)
    if (!prepaid || !other) continue
    const sentence = `can't be ${beyondOf(other) === 'prepaid' ? 'prepaid' : 'metered'} beside ${prepaid.limit}, which is prepaid: one window of a plan is`
    yield mistake(['plans', name, other.limit], sentence)
  }
}

/** A shadow that is looser than its limit would never count. */
export function* shadowRemarks({ file, quote }: Checked): Generator<Remark> {
  for (const [name, plan] of Object.entries(file.plans ?? {})) {
    for (const window of limitNames) {
      const [limit, lower] = [refusing(plan?.[window]), plan?.shadow?.[window]]
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
export function* planRemarks({ written }: Checked): Generator<Remark> {
  for (const [name, plan] of Object.entries(section(written['plans']))) {
    const isWritten = typeof plan === 'object' && plan !== null
    if (
      isWritten &&
      !Object.keys(plan).some((each) => nearest(each, ['limits', ...limitSettings]))
    ) {
      yield mistake(['plans', name], `needs a limit: one of ${limitSettings.join(', ')}`)
    }
    if (!Object.hasOwn(fileSchema.properties, name)) continue
    const sentence = `is a plan with the name of a section; if the section is meant, indent it as far as plans`
    yield warning(['plans', name], sentence)
  }
}

/** A route's cost must be within the limits of some plan, and should be within those of all. */
export function* costRemarks({ file, quote }: Checked): Generator<Remark> {
  const plans = Object.entries(file.plans ?? {}).map(([name, plan = {}]) => {
    return { name, ...leastOf(plan) }
  })
  if (plans.length === 0) return
  for (const [i, route] of (file.routes ?? []).entries()) {
    const written = route?.cost
    const byAnswer = typeof written === 'object' ? written : undefined
    const cost = typeof written === 'object' ? written.estimate : written
    const atMost = byAnswer?.atMost
    if (cost === undefined) continue
    if (cost === 0 && byAnswer && !('atMost' in byAnswer)) {
      const sentence =
        'needs an atMost beside an estimate of 0: the most points that a request costs'
      yield mistake(['routes', i, 'cost'], sentence)
    }
    if (atMost !== undefined && atMost < cost) {
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

const [mostMembers, mostPointers] = [10, 20]

/** Costs that answers tell: how many numbers of a body are read, and what is usual where nothing is told. */
export function* answerCostRemarks({ file }: Checked): Generator<Remark> {
  for (const [i, { cost } = {}] of (file.routes ?? []).entries()) {
    if (typeof cost !== 'object' || typeof cost.from !== 'object') continue
    const { json, times } = cost.from
    if (json === undefined) continue
    const at = ['routes', i, 'cost', 'from', 'json'] as const
    const members = typeof json === 'object' ? Object.keys(json) : []
    const count = members.flatMap(pointersIn).length
    if (members.length > mostMembers || count > mostPointers) {
      const most = `at most ${mostMembers} with ${mostPointers} pointers are allowed`
      yield mistake(at, `has ${members.length} members with ${count} pointers; ${most}`)
    }
    if (members.length > 0 && times !== undefined) {
      const sentence = 'is for one pointer: beside several, write each one’s weight'
      yield mistake(['routes', i, 'cost', 'from', 'times'], sentence)
    }
    const { estimate, atMost, untold = 'estimate', left = 'passed', drain } = cost
    if (estimate === undefined || atMost === undefined || atMost <= 10 * estimate) continue
    const mayCost = `may cost ${atMost}, and ${estimate}`
    if (untold === 'estimate') {
      const sentence = `${mayCost} where nothing is told, as in a stream that is asked for without its usage: untold: atMost ends that`
      yield warning(['routes', i, 'cost'], sentence)
    }
    if (left === 'passed' && drain === undefined) {
      const sentence = `${mayCost} or what was passed on where its caller leaves early: drain reads on then, and left: atMost takes the most`
      yield warning(['routes', i, 'cost'], sentence)
    }
  }
}

/** The window of a plan that allows the least. Limits that are unknown, mistaken, or each key's own count as infinite. */
function leastOf(limits: PlanSection): { window: Window; points: number } {
  const pointsOf = ({ limit }: Window): number => {
    const points = refusing(limits[limit])
    return typeof points === 'number' ? points : Infinity
  }
  const window = windows.reduce((least, each) => (pointsOf(each) < pointsOf(least) ? each : least))
  return { window, points: pointsOf(window) }
}
