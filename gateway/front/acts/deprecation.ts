import { announcer, type Announced, type Deprecation } from '../config/deprecations.ts'
import { dayMs } from '../../../shared/windows.ts'
import type { ActName } from './wish.ts'

const monthMs = 30 * dayMs
const brownoutMs = 60_000

/** Stands for the operation that a deprecated one without a `replacement` leads to. */
const someReplacement = '/acted/replacement'

/** The deprecation that a wish pretends: the operation's own, with other times, or one that is made up. */
export function actedDeprecation(
  name: Extract<ActName, 'deprecated' | 'sunset' | 'brownout'>,
  announced: Announced | undefined,
  nowMs: number,
): Announced {
  const base = { ...(announced?.deprecation ?? madeUp(nowMs)), extensions: [] }
  const { sinceMs, sunsetMs = nowMs + monthMs } = base
  const passedMs = Math.min(sunsetMs, nowMs)
  const aheadMs = Math.max(sunsetMs, nowMs + monthMs)
  const times: Partial<Deprecation> =
    name === 'sunset'
      ? { sinceMs: Math.min(sinceMs, passedMs), sunsetMs: passedMs, afterSunset: 'gone' }
      : { sunsetMs: sunsetMs > nowMs ? sunsetMs : aheadMs }
  const now = { fromMs: nowMs, toMs: nowMs + brownoutMs }
  const brownouts = name === 'brownout' ? [now] : []
  return announcer({ ...base, ...times, brownouts })(undefined)
}

function madeUp(nowMs: number): Deprecation {
  return {
    operation: '',
    sinceMs: nowMs - monthMs,
    sunsetMs: nowMs + monthMs,
    replacement: someReplacement,
    afterSunset: 'gone',
    brownouts: [],
    extensions: [],
  }
}
