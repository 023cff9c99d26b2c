import { dayWindow, requiredWindows, type WindowName } from '../../../shared/windows.ts'
import { numberOf } from '../limits/counters.ts'
import { usedHere } from '../limits/step.ts'
import { countsOf, DayUse } from './caller-counts.ts'
import type { Used } from './ended.ts'
import type { PeakStore, QuotaDay } from './peak-store.ts'
import { Waiting } from './waiting.ts'

/** No day: a ban that was answered from memory tells no counters. */
const none = 0

/**
 * Notes the highest use of quotas. A request costs a comparison for each recorded window and, if it is the caller's first
 * since the last time, an entry in a list: 10 ns.
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

  count({ caller, record, standing, refusedBy }: PeakOf): void {
    const { decision } = standing
    const day = numberOf(decision.seen, dayWindow)
    if (day === none) return
    const recorded = record.terms?.recorded ?? requiredWindows
    const counts = countsOf(caller)
    let peak = counts.peak
    if (peak?.day !== day || peak.recorded !== recorded) {
      peak = new DayUse(caller.quota, day, recorded)
      counts.peak = peak
    }
    if (!this.wait(peak)) return
    const { most } = peak
    for (let i = 0; i < recorded.length; i++) {
      const window = recorded[i]
      const used = window ? usedHere(decision, window) : 0
      if (used > (most[i] ?? 0)) most[i] = used
    }
    // The limit of an operation, or a cap, isn't that of the quota.
    if (refusedBy === undefined || record.refusal?.of !== undefined) return
    const place = recorded.findIndex(({ name }) => name === refusedBy)
    const refused = (peak.refused ??= most.map(() => 0))
    if (place >= 0) refused[place] = (refused[place] ?? 0) + 1
  }
}

type PeakOf = Pick<Used, 'caller' | 'standing' | 'refusedBy'> & {
  readonly record: Pick<Used['record'], 'terms' | 'refusal'>
}

function taken(peak: DayUse): QuotaDay {
  const { quota, day, recorded } = peak
  const most: Partial<Record<WindowName, number>> = {}
  const refused: Partial<Record<WindowName, number>> = {}
  recorded.forEach(({ name }, i) => {
    most[name] = peak.most[i] ?? 0
    const refusals = peak.refused?.[i] ?? 0
    if (refusals > 0) refused[name] = refusals
  })
  peak.most.fill(0)
  peak.refused = undefined
  return { quota, day, most, refused }
}
