import { counted, withCommas } from '../../../../shared/commas.ts'
import type { Difference } from '../../config/diff.ts'
import { valueText } from '../../config/show.ts'
import { aligned } from '../table.ts'
import type { AffectedKeys } from './affected.ts'

/** A table of differences between two configurations, and the keys that they concern. */
export function differencesText(
  file: string,
  differences: readonly Difference[],
  { keys, refused }: AffectedKeys,
): string {
  if (differences.length === 0) return `${file} changes nothing.`
  const rows = differences.map(({ place, before, after, needsRestart = false }) => [
    place,
    textOf(before),
    textOf(after),
    needsRestart ? 'needs a restart' : '',
  ])
  const counts = Object.entries(keys ?? {}).map(([plan, count]) => {
    const refusedCount = refused?.[plan] ?? 0
    const sentence = `${withCommas(count)} ${count === 1 ? 'key has' : 'keys have'} the plan ${plan}`
    return refusedCount === 0
      ? `${sentence}.`
      : `${sentence}: ${counted(refusedCount, 'key')} will be refused.`
  })
  return [
    aligned([['SETTING', 'NOW', 'THEN'], ...rows]),
    ...(counts.length > 0 ? [''] : []),
    ...counts,
    ...(keys
      ? []
      : ['', 'The number of keys that this concerns is unknown: the store can’t be asked.']),
  ].join('\n')
}

function textOf(value: unknown): string {
  return value === null ? '-' : valueText(value)
}
