import { byLimit, limitNames, type LimitName } from '../../../shared/windows.ts'
import type { Limits } from './limits.ts'

/** A key's own limits, which replace those of its plan; as operators write them. */
export type LimitSettings = Readonly<{ [Name in LimitName]?: LimitSetting | undefined }>

export type LimitSetting = number | 'unlimited'

/** Whether a key has limits of its own. */
export function hasLimits(own: LimitSettings): boolean {
  return limitNames.some((name) => own[name] !== undefined)
}

/** A limit as operators write it, as a number to count against. */
export function limitFrom(setting: LimitSetting | undefined): number | undefined {
  return setting === 'unlimited' ? Infinity : setting
}

/** Limits as operators write them. */
export function limitsFrom(settings: LimitSettings): Limits {
  return byLimit(({ limit }) => limitFrom(settings[limit]) ?? Infinity)
}
