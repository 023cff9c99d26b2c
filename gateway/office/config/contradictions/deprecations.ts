import { nameOf } from '../check.ts'
import type { CompleteFile } from '../defaults.ts'
import type { Path } from '../mistake.ts'
import { leadsTo, methodFault, pathFault } from './entries.ts'
import type { Known } from '../settings/setting.ts'
import { instant, mistake, type Checked, type Quote, type Remark } from './remarks.ts'

type Deprecation = Known<CompleteFile['deprecations'][number]>

export function* deprecationRemarks({ file, quote, entries }: Checked): Generator<Remark> {
  const listed = new Set<string>()
  for (const [i, deprecation = {}] of (file.deprecations ?? []).entries()) {
    const { operation, since, sunset, brownouts = [] } = deprecation
    const setting = ['deprecations', i] as const
    if (operation !== undefined) {
      const shown = quote([...setting, 'operation'])
      const fault = operationFault(operation, shown)
      const [method = '', path = ''] = operation.split(' ')
      if (fault !== undefined) yield mistake([...setting, 'operation'], fault)
      else if (entries && leadsTo(entries, method, path).length === 0) {
        yield mistake([...setting, 'operation'], `matches no route: ${shown}`)
      } else if (listed.has(operation)) {
        yield mistake([...setting, 'operation'], `is listed twice: ${shown}`)
      }
      listed.add(operation)
    }
    const [sinceMs, sunsetMs] = [instant(since), instant(sunset)]
    if (sinceMs !== undefined && sunsetMs !== undefined && sunsetMs < sinceMs) {
      const written = quote([...setting, 'since'])
      yield mistake([...setting, 'sunset'], `must not be before since, which is ${written}`)
    }
    yield* brownoutRemarks([...setting, 'brownouts'], brownouts, quote)
    yield* extensionRemarks(setting, deprecation, quote)
  }
}

function operationFault(operation: string, shown: string): string | undefined {
  const [method = '', path = ''] = operation.split(' ')
  if (method === 'HEAD') return `must name GET, which includes HEAD, got "${shown}"`
  return methodFault(method, () => shown) ?? pathFault(path, () => shown)
}

function* brownoutRemarks(
  setting: Path,
  brownouts: NonNullable<Deprecation['brownouts']>,
  quote: Quote,
): Generator<Remark> {
  const earlier: { from: number; to: number }[] = []
  for (const [i, brownout] of brownouts.entries()) {
    const [from, to] = [instant(brownout?.from), instant(brownout?.to)]
    if (from === undefined || to === undefined) continue
    const written = quote([...setting, i, 'from'])
    if (to <= from) yield mistake([...setting, i, 'to'], `must be after from, which is ${written}`)
    const other = earlier.findIndex((each) => from < each.to && each.from < to)
    if (other >= 0) yield mistake([...setting, i], `overlaps with ${nameOf([...setting, other])}`)
    earlier.push({ from, to })
  }
}

/** An extension is later than the sunset that it extends, and the only one of its key or account. */
function* extensionRemarks(at: Path, deprecation: Deprecation, quote: Quote): Generator<Remark> {
  const sunsetMs = instant(deprecation.sunset)
  const earlier = new Map<string, number>()
  for (const [i, { key, account, until } = {}] of (deprecation.extensions ?? []).entries()) {
    const setting = [...at, 'extensions', i]
    const untilMs = instant(until)
    if (!('sunset' in deprecation)) {
      yield mistake(setting, 'extends nothing: the operation has no sunset')
    } else if (sunsetMs !== undefined && untilMs !== undefined && untilMs <= sunsetMs) {
      const written = quote([...at, 'sunset'])
      yield mistake([...setting, 'until'], `must be after the sunset, which is ${written}`)
    }
    const what = key === undefined ? 'account' : 'key'
    const name = key ?? account
    if (name === undefined) continue
    const other = earlier.get(`${what} ${name}`)
    if (other !== undefined) {
      const first = nameOf([...at, 'extensions', other])
      yield mistake(setting, `is for the same ${what} as ${first}`)
    }
    earlier.set(`${what} ${name}`, i)
  }
}
