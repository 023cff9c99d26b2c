import type { Caller } from '../keys/caller.ts'
import { minuteMs, windowOf } from '../../../shared/windows.ts'
import { limitOf } from '../limits/limits.ts'
import { decisiveWindow } from '../limits/headers.ts'
import { usedByPart } from '../limits/parts.ts'
import { usedBy } from '../limits/step.ts'
import { countsOf, type MinuteCount } from './caller-counts.ts'
import type { Ended } from './ended.ts'
import type { RefusedKey, TimelineStore } from './timeline-store.ts'
import { Waiting } from './waiting.ts'

/** Counts by minute why keys were refused. */
export class Timeline extends Waiting<MinuteCount, RefusedKey> {
  constructor(store: Pick<TimelineStore, 'add'>) {
    super({
      most: 20_000,
      batchSize: 100,
      take: taken,
      add: (batch) => store.add(batch),
    })
  }

  /** Counts the refusal of a request with a known key. */
  count({ record, standing, refusedBy, atMs }: Ended): void {
    const { refusal, caller = record.turnedAway } = record
    if (!refusal || !caller) return
    const { code, reason = code, of } = refusal
    // One text, which stores keep between spaces.
    const why = of === undefined ? reason : `${reason}/${of.replace(' ', ':')}`
    const counted = countOf(caller, Math.floor(atMs / minuteMs), code, why)
    if (!this.wait(counted)) return
    counted.count++
    if (!standing || !refusedBy) return
    const { decision, limits } = standing
    const window = windowOf(refusedBy)
    const part = of && decisiveWindow(decision, limits)?.part
    const state = part && decision.parts?.find((each) => each.part === part)
    counted.limit = limitOf(part ? part.limits : limits, window)
    counted.used = state ? usedByPart(state, window) : usedBy(decision, window)
  }
}

function countOf(caller: Caller, minute: number, code: string, reason: string): MinuteCount {
  const counts = countsOf(caller)
  const latest = counts.refusals
  let counted = latest
  while (counted?.minute === minute && (counted.reason !== reason || counted.code !== code)) {
    counted = counted.next
  }
  if (counted?.minute === minute) return counted
  // Counts of an earlier minute are dropped together.
  const next = latest?.minute === minute ? latest : undefined
  const about = { key: caller.id, minute, code, reason }
  counts.refusals = { isWaiting: false, ...about, count: 0, limit: 0, used: 0, next }
  return counts.refusals
}

function taken(counted: MinuteCount): RefusedKey {
  const { key, minute, code, reason, count, limit, used } = counted
  counted.count = 0
  return { key, minute, code, reason, count, limit, used }
}
