import { nameOf } from '../check.ts'
import type { Path } from '../mistake.ts'
import { operationPattern } from '../settings/values.ts'
import { instantFrom } from '../../../../shared/units.ts'
import { leadsTo, methodFault, pathFault, type KnownEntry } from './entries.ts'
import { list, mistake, section, text, type Quote, type Remark, type Section } from './remarks.ts'

const operations = new RegExp(operationPattern)

export function* deprecationRemarks(
  file: Section,
  quote: Quote,
  entries: readonly KnownEntry[] | undefined,
): Generator<Remark> {
  const listed = new Set<string>()
  for (const [i, deprecation] of list(file['deprecations']).entries()) {
    const { operation, since, sunset, brownouts, extensions } = section(deprecation)
    const setting = ['deprecations', i] as const
    const written = text(operation)
    if (written !== undefined && operations.test(written)) {
      const shown = quote([...setting, 'operation'])
      const fault = operationFault(written, shown)
      const [method = '', path = ''] = written.split(' ')
      if (fault !== undefined) yield mistake([...setting, 'operation'], fault)
      else if (entries && leadsTo(entries, method, path).length === 0) {
        yield mistake([...setting, 'operation'], `matches no route: ${shown}`)
      } else if (listed.has(written)) {
        yield mistake([...setting, 'operation'], `is listed twice: ${shown}`)
      }
      listed.add(written)
    }
    const [sinceMs, sunsetMs] = [instant(since), instant(sunset)]
    if (sinceMs !== undefined && sunsetMs !== undefined && sunsetMs < sinceMs) {
      const written = quote([...setting, 'since'])
      yield mistake([...setting, 'sunset'], `must not be before since, which is ${written}`)
    }
    yield* brownoutRemarks([...setting, 'brownouts'], list(brownouts), quote)
    yield* extensionRemarks(setting, list(extensions), { sunset, sunsetMs }, quote)
  }
}

function operationFault(operation: string, shown: string): string | undefined {
  const [method = '', path = ''] = operation.split(' ')
  if (method === 'HEAD') return `must name GET, which includes HEAD, got "${shown}"`
  return methodFault(method, () => shown) ?? pathFault(path, () => shown)
}

function* brownoutRemarks(
  setting: Path,
  brownouts: readonly unknown[],
  quote: Quote,
): Generator<Remark> {
  const earlier: { from: number; to: number }[] = []
  for (const [i, brownout] of brownouts.entries()) {
    const { from: beginning, to: end } = section(brownout)
    const [from, to] = [instant(beginning), instant(end)]
    if (from === undefined || to === undefined) continue
    const written = quote([...setting, i, 'from'])
    if (to <= from) yield mistake([...setting, i, 'to'], `must be after from, which is ${written}`)
    const other = earlier.findIndex((each) => from < each.to && each.from < to)
    if (other >= 0) yield mistake([...setting, i], `overlaps with ${nameOf([...setting, other])}`)
    earlier.push({ from, to })
  }
}

/** An extension is later than the sunset that it extends, and the only one of its key or account. */
function* extensionRemarks(
  deprecation: Path,
  extensions: readonly unknown[],
  { sunset, sunsetMs }: Readonly<{ sunset: unknown; sunsetMs: number | undefined }>,
  quote: Quote,
): Generator<Remark> {
  const earlier = new Map<string, number>()
  for (const [i, extension] of extensions.entries()) {
    const setting = [...deprecation, 'extensions', i]
    const { key, account, until } = section(extension)
    const untilMs = instant(until)
    if (sunset === undefined) {
      yield mistake(setting, 'extends nothing: the operation has no sunset')
    } else if (sunsetMs !== undefined && untilMs !== undefined && untilMs <= sunsetMs) {
      const written = quote([...deprecation, 'sunset'])
      yield mistake([...setting, 'until'], `must be after the sunset, which is ${written}`)
    }
    const what = key === undefined ? 'account' : 'key'
    const name = text(key ?? account)
    if (name === undefined) continue
    const other = earlier.get(`${what} ${name}`)
    if (other !== undefined) {
      const first = nameOf([...deprecation, 'extensions', other])
      yield mistake(setting, `is for the same ${what} as ${first}`)
    }
    earlier.set(`${what} ${name}`, i)
  }
}

function instant(value: unknown): number | undefined {
  return typeof value === 'string' ? instantFrom(value) : undefined
}
