import { dayWindow, shortest } from '../../../shared/windows.ts'
import { numberOf, usedIn } from '../limits/counters.ts'
import { countsOf, type DayUse } from './caller-counts.ts'
import type { Used } from './ended.ts'
import type { PeakStore, QuotaDay } from './peak-store.ts'
import { Waiting } from './waiting.ts'

/** No day: a ban that was answered from memory tells no counters. */
const none = 0

/**
 * Notes the highest use of quotas. A request costs two comparisons and, if it is the caller's first since the last time,
 * an entry in a list: 10 ns.
 */
export class Peaks extends Waiting<DayUse, QuotaDay> {
  constructor(store: Pick<PeakStore, 'add'>) {
    super({
      most: 200_000,
      // Redis takes a batch in one call a group of quotas, so that large ones spare calls.
      batchSize: 5_000,
      take: taken,
      add: (batch) => store.add(batch),
    })
  }

  count({ caller, standing, refusedBy }: Pick<Used, 'caller' | 'standing' | 'refusedBy'>): void {
    const { seen } = standing.decision
    const day = numberOf(seen, dayWindow)
    if (day === none) return
    const counts = countsOf(caller)
    let peak = counts.peak
    if (peak?.day !== day) {
      peak = { isWaiting: false, quota: caller.quota, day, ...noUse }
      counts.peak = peak
    }
    if (!this.wait(peak)) return
    const [ofMinute, ofDay] = [usedIn(seen, shortest), usedIn(seen, dayWindow)]
    if (ofMinute > peak.minute) peak.minute = ofMinute
    if (ofDay > peak.used) peak.used = ofDay
    if (refusedBy === 'minute') peak.refusedByMinute++
    else if (refusedBy === 'day') peak.refusedByDay++
  }
}

const noUse = { minute: 0, used: 0, refusedByMinute: 0, refusedByDay: 0 }

function taken(peak: DayUse): QuotaDay {
  const { quota, day, minute, used, refusedByMinute, refusedByDay } = peak
  Object.assign(peak, noUse)
  return { quota, day, minute, used, refusedByMinute, refusedByDay }
}
