import type { HitQuota, Peaks, PlanPreview, RefusedQuota } from '../../foresight/preview.ts'
import { atOnceInWords, limitInWords } from '../../../front/limits/limit-settings.ts'
import { changedWindows, limitIn, windowsOf, type LimitsView } from '../../foresight/views.ts'
import { withCommas } from '../../../../shared/commas.ts'
import { csvText } from '../../../../shared/csv-text.ts'
import { memberName, type Window } from '../../../../shared/windows.ts'
import { aligned, type Cell } from '../table.ts'

/** A preview for people: a summary, who is hit, who was refused, and what it can't tell. */
export function previewText(preview: PlanPreview): string {
  const { hit, hitQuotas, refused, refusedQuotas, unsaid } = preview
  const shown = windowsOf([preview.now, preview.then])
  const parts = [
    summary(preview),
    ...(hit.length > 0 ? [hitTable(hit, shown) + leftOut(hitQuotas - hit.length)] : []),
    ...(refused.length > 0
      ? [
          'Refused by the limits that would be raised:\n' +
            refusedTable(refused, shown) +
            leftOut(refusedQuotas - refused.length),
        ]
      : []),
    unsaid.join('\n'),
  ]
  return parts.join('\n\n')
}

/** Such as `free 60 → 40 a minute: 12 of 340 quotas, on 31 of 1,204 days; 3 of them right now.` */
function summary(preview: PlanPreview): string {
  const { hitQuotas, quotas, hitDays, days, hitNow, bound } = preview
  const least = bound === 'lower' ? 'at least ' : ''
  const now = hitQuotas > 0 ? `; ${withCommas(hitNow)} of them right now` : ''
  return `${changeText(preview)}: ${least}${withCommas(hitQuotas)} of ${withCommas(quotas)} quotas, on ${withCommas(hitDays)} of ${withCommas(days)} days${now}.`
}

/** The change of a plan, such as `free 60 → 40 a minute, 1,000 → 800 a day`. */
function changeText({ plan, now, then }: Pick<PlanPreview, 'plan' | 'now' | 'then'>): string {
  if (now === null || then === null) return `${plan} ${now ? 'removed' : 'unknown'}`
  if (typeof now === 'string' || typeof then === 'string') {
    return `${plan} ${limitsText(now)} → ${limitsText(then)}`
  }
  const changes = changedWindows(now, then).map(({ limit, each }) => {
    const [before, after] = [now, then].map((view) => limitInWords(limitIn(view, limit)))
    return `${before} → ${after} ${each}`
  })
  return `${plan} ${changes.length > 0 ? changes.join(', ') : 'as it is'}`
}

/** Limits in words, such as `60 a minute, 1,000 a day`. */
export function limitsText(limits: LimitsView): string {
  if (typeof limits === 'string') return limits
  return windowsOf([limits])
    .map(({ limit, each }) => `${limitInWords(limitIn(limits, limit))} ${each}`)
    .concat(limits.atOnce === undefined ? [] : [atOnceInWords(limits.atOnce)])
    .join(', ')
}

function leftOut(count: number): string {
  return count > 0 ? `\n… and ${withCommas(count)} more (--limit lists more)` : ''
}

function headsFor(shown: readonly Window[], days: string): string[] {
  const highest = shown.map(({ name }) => `HIGHEST ${name.toUpperCase()}`)
  return ['NAME', 'PLAN', 'QUOTA', 'DAYS', days, ...highest]
}

function hitTable(hit: readonly HitQuota[], shown: readonly Window[]): string {
  const rows = hit.map((each) => [
    ...cells(each, each.daysHit.length, shown),
    each.refusedNow ? 'refused now' : '',
  ])
  return aligned([[...headsFor(shown, 'HIT'), 'NOW'], ...rows])
}

function refusedTable(refused: readonly RefusedQuota[], shown: readonly Window[]): string {
  const rows = refused.map((each) => [
    ...cells(each, each.daysRefused.length, shown),
    ...shown.map(({ name }) => each.refused[name] ?? 0),
  ])
  const by = shown.map(({ name }) => `BY ${name.toUpperCase()}`)
  return aligned([[...headsFor(shown, 'REFUSED ON'), ...by], ...rows])
}

function cells(row: HitQuota | RefusedQuota, days: number, shown: readonly Window[]): Cell[] {
  const { name, plan, quota } = row
  return [name, plan, quota, row.days, days, ...shown.map((window) => peakOf(row, window))]
}

function peakOf(peaks: Peaks, { name }: Window): number {
  return peaks[memberName('peak', name)] ?? 0
}

/** The quotas that are hit, for letters. */
export function previewCsv(previews: readonly PlanPreview[]): string {
  const shown = windowsOf(previews.flatMap(({ now, then }) => [now, then]))
  const rows = previews.flatMap(({ hit }) =>
    hit.map((each) => [
      each.plan,
      each.quota,
      each.key,
      each.name,
      each.account ?? '',
      each.days,
      each.daysHit.length,
      each.daysHit.join(' '),
      ...shown.map((window) => peakOf(each, window)),
      each.refusedNow,
    ]),
  )
  const about = ['plan', 'quota', 'key', 'name', 'account', 'days', 'days_hit', 'dates_hit']
  const peaks = shown.map(({ name }) => `peak_${name}`)
  return csvText([...about, ...peaks, 'refused_now'], rows)
}
