import { nameOf } from '../check.ts'
import type { Path } from '../document.ts'
import { operationPattern } from '../values.ts'
import { instantFrom } from '../units.ts'
import { entriesIn, leadsTo, methodFault, pathFault } from './entries.ts'
import { list, mistake, section, text, type Quote, type Saying, type Section } from './saying.ts'

const operations = new RegExp(operationPattern)

export function* deprecationSayings(
  file: Section,
  quote: Quote,
  areRoutesSound: boolean,
): Generator<Saying> {
  const entries = entriesIn(file)
  const listed = new Set<string>()
  for (const [i, deprecation] of list(file['deprecations']).entries()) {
    const { operation, since, sunset, brownouts } = section(deprecation)
    const place = ['deprecations', i] as const
    const written = text(operation)
    if (written !== undefined && operations.test(written)) {
      const told = quote([...place, 'operation'])
      const fault = operationFault(written, told)
      const [method = '', path = ''] = written.split(' ')
      const isLed = leadsTo(entries, method, path).length > 0
      if (fault !== undefined) yield mistake([...place, 'operation'], fault)
      else if (areRoutesSound && !isLed) {
        yield mistake([...place, 'operation'], `is covered by no route: ${told}`)
      } else if (listed.has(written)) {
        yield mistake([...place, 'operation'], `is there twice: ${told}`)
      }
      listed.add(written)
    }
    const [sinceMs, sunsetMs] = [instant(since), instant(sunset)]
    if (sinceMs !== undefined && sunsetMs !== undefined && sunsetMs < sinceMs) {
      const told = quote([...place, 'since'])
      yield mistake([...place, 'sunset'], `must not be before since, which is ${told}`)
    }
    yield* brownoutSayings([...place, 'brownouts'], list(brownouts), quote)
  }
}

function operationFault(operation: string, told: string): string | undefined {
  const [method = '', path = ''] = operation.split(' ')
  if (method === 'HEAD') return `must name GET, which HEAD goes with, got "${told}"`
  return methodFault(method, told) ?? pathFault(path, told)
}

function* brownoutSayings(
  place: Path,
  brownouts: readonly unknown[],
  quote: Quote,
): Generator<Saying> {
  const seen: { from: number; to: number }[] = []
  for (const [i, brownout] of brownouts.entries()) {
    const { from: beginning, to: end } = section(brownout)
    const [from, to] = [instant(beginning), instant(end)]
    if (from === undefined || to === undefined) continue
    const told = quote([...place, i, 'from'])
    if (to <= from) yield mistake([...place, i, 'to'], `must be after from, which is ${told}`)
    const other = seen.findIndex((each) => from < each.to && each.from < to)
    if (other >= 0) yield mistake([...place, i], `overlaps with ${nameOf([...place, other])}`)
    seen.push({ from, to })
  }
}

function instant(value: unknown): number | undefined {
  return typeof value === 'string' ? instantFrom(value) : undefined
}
