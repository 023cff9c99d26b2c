import { METHODS } from '../../../shared/node/http.ts'
import { requireOrigins } from './origins.ts'
import { requireScopes } from './scopes.ts'
import { Ranges } from '../http/address.ts'
import { effectiveLimits, type Plan } from '../limits/plan.ts'
import { withCommas } from '../../../shared/commas.ts'
import {
  hasLimits,
  isPrepaid,
  mergedLimits,
  mostAtOnce,
  mostLimit,
  type LimitSettings,
} from '../limits/limit-settings.ts'
import { longWindows, requiredWindows, windows, type Window } from '../../../shared/windows.ts'
import type { Key, KeySettings } from './key.ts'
import { KeyMistake } from './mistake.ts'

/** The parts of a key that operators may change later. */
export type KeyChanges = Partial<Omit<KeySettings, 'test'>>

const longestText = 255

/**
 * Throws a `KeyMistake` if a key can't have these settings; `plans` are those of the configuration. Without them any plan
 * will do: it isn't an operator's to change.
 */
export function requireSound(
  settings: KeySettings,
  plans: ReadonlyMap<string, Plan> | undefined,
): void {
  const { name, account, reference, note, limits, expiresAtMs } = settings
  requireText('the name', name)
  if (account !== undefined) requireText('the account', account)
  if (reference !== undefined && !isReference(reference)) throw new KeyMistake(wrongReference)
  if (note !== undefined) requireText('the note', note)
  if (expiresAtMs !== undefined && !Number.isSafeInteger(expiresAtMs)) {
    throw new KeyMistake(
      'the expiry isn’t a valid date; write a day such as 2030-12-31, or a time with its zone',
    )
  }
  requireNumbers(limits)
  if (plans) requireLimits(settings.plan, limits, plans)
  requireCap(settings)
  requireScopes(settings.scopes ?? [])
  requireOrigins(settings.origins ?? [])
  for (const method of settings.methods ?? []) {
    if (!METHODS.includes(method)) throw new KeyMistake(`"${method}" isn’t a valid HTTP method`)
  }
  for (const path of settings.paths ?? []) {
    if (!path.startsWith('/')) throw new KeyMistake(`the path "${path}" must start with /`)
  }
  try {
    new Ranges(settings.addresses ?? [])
  } catch (error) {
    throw new KeyMistake(error instanceof Error ? error.message : String(error))
  }
}

/**
 * Throws a `KeyMistake` if somebody else says of a caller what it can't have. A custom plan may get its limits from an operator
 * later.
 */
export function requireSoundOutsider(
  { name, account, plan, limits }: Pick<KeySettings, 'name' | 'account' | 'plan' | 'limits'>,
  plans: ReadonlyMap<string, Plan>,
): void {
  requireText('the name', name)
  if (account !== undefined) requireText('the account', account)
  requirePlan(plan, plans)
  requireNumbers(limits)
}

function requirePlan(name: string, plans: ReadonlyMap<string, Plan>): Plan {
  const plan = plans.get(name)
  if (plan) return plan
  throw new KeyMistake(noPlan(name, plans))
}

/** Says that the configuration has no plan of a name. */
export function noPlan(name: string, plans: ReadonlyMap<string, Plan>): string {
  return `there is no plan "${name}"; there are ${[...plans.keys()].join(', ')}`
}

function requireLimits(
  name: string,
  own: LimitSettings | undefined,
  plans: ReadonlyMap<string, Plan>,
): void {
  const plan = requirePlan(name, plans)
  const prepaid = windows.find(({ limit }) => isPrepaid(own?.[limit]))
  if (prepaid) requirePrepaid(prepaid, plan, own)
  if (effectiveLimits(plan, own)) return
  const needed = requiredWindows.map((window) => `a limit per ${window.name}`).join(' and ')
  throw new KeyMistake(`the plan "${name}" is custom: its keys need both ${needed}`)
}

/** What was bought is taken in one window of a plan that says its limits. */
function requirePrepaid({ limit }: Window, plan: Plan, own: LimitSettings = {}): void {
  if (plan.limits === 'custom') {
    throw new KeyMistake(`${limit} can’t be prepaid: the plan "${plan.name}" is custom`)
  }
  const others = windows.filter((each) => each.limit !== limit)
  const other = others.find((each) => {
    return typeof (own[each.limit] ?? plan.settings?.[each.limit]) === 'object'
  })
  if (!other) return
  throw new KeyMistake(
    `${limit} can’t be prepaid beside ${other.limit}, which is metered or prepaid: one window of a key is`,
  )
}

function requireNumbers(own: LimitSettings | undefined): void {
  const { atOnce } = own ?? {}
  if (typeof atOnce === 'number' && !isPlaces(atOnce)) {
    const most = withCommas(mostAtOnce)
    throw new KeyMistake(`atOnce must be 1 to ${most}, or "unlimited", got ${atOnce}`)
  }
  for (const window of windows) {
    const setting = own?.[window.limit]
    if (setting === undefined || setting === 'unlimited') continue
    const limit = typeof setting === 'object' ? setting.limit : setting
    if (!Number.isSafeInteger(limit) || limit < (isPrepaid(setting) ? 0 : 1)) {
      throw wrongLimit(window.limit, String(limit))
    }
    if (limit > mostLimit) {
      throw new KeyMistake(
        `${window.limit} must have at most 15 digits, or be "unlimited", got ${limit}`,
      )
    }
    if (typeof setting === 'object' && !longWindows.includes(window)) {
      const how = isPrepaid(setting) ? 'prepaid' : 'metered'
      throw new KeyMistake(`${window.limit} can’t be ${how}: only a day and what is longer can`)
    }
  }
}

function isPlaces(count: number): boolean {
  return Number.isSafeInteger(count) && count >= 1 && count <= mostAtOnce
}

/** The mistake of a limit that isn't a number, or isn't one that counts. */
export function wrongLimit(name: string, got: string): KeyMistake {
  return new KeyMistake(`${name} must be a whole number above 0 or "unlimited", got ${got}`)
}

function requireCap({ cap, account, test }: Pick<KeySettings, 'cap' | 'account' | 'test'>): void {
  if (!cap || !hasLimits(cap)) return
  requireNumbers(cap)
  if (test)
    throw new KeyMistake('a test key has a quota of its own: give it limits in place of a cap')
  if (account === undefined) {
    throw new KeyMistake(
      'a cap is a part of an account’s quota: a key without an account has limits',
    )
  }
}

/** A key with changed settings; of limits and a cap, each by itself. */
export function changedKey(key: Key, changes: KeyChanges, nowMs: number): Key {
  const { plan = key.plan, account } = { account: key.account, ...changes }
  const cap = changedCap(key, { cap: { ...key.cap, ...changes.cap }, account }, nowMs)
  return { ...key, ...changes, cap, plan, limits: { ...key.limits, ...changes.limits } }
}

/** The cap of a key after a change: it begins at 0 when it is set, and in another account. */
export function changedCap(
  before: Pick<Key, 'cap' | 'account'>,
  { cap, account }: Pick<KeySettings, 'cap' | 'account'>,
  nowMs: number,
): Key['cap'] {
  const limits = mergedLimits(cap)
  if (!hasLimits(limits)) return undefined
  const goesOn = before.cap && before.account === account
  return { ...limits, sinceMs: goesOn ? before.cap.sinceMs : nowMs }
}

/**
 * Whether a text is one line that can be shown as it is. Characters that are invisible, end a line or change the
 * direction of text could make one name look like another in a table or in the audit.
 */
export function isLine(text: string): boolean {
  if (text.trim() === '' || text.length > longestText) return false
  return !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(text)
}

const wrongReference =
  'a reference must be 1 to 128 printable ASCII characters without spaces, such as cus_123'

function isReference(text: string): boolean {
  return /^[!-~]{1,128}$/.test(text)
}

export function requireText(what: string, text: string): void {
  if (isLine(text)) return
  throw new KeyMistake(
    `${what} must be a line of 1 to ${longestText} characters, none of them invisible`,
  )
}
