import { readFileSync } from 'node:fs'
import { Ranges } from '../address.ts'
import { pathExpression } from '../paths.ts'
import { nameOf } from './check.ts'
import type { ConfigDocument, Mistake, Path } from './document.ts'
import { nearest } from './near.ts'
import { durationFrom, instantFrom } from './units.ts'

type Section = Readonly<Record<string, unknown>>

/** A sentence about a setting, which is said before it by its name. */
type Saying = readonly [path: Path, sentence: string]

/**
 * What no single setting has wrong, but several together, or with the world. A setting that is wrong by
 * itself is told elsewhere, and passed over here.
 */
export function contradictionsIn(document: ConfigDocument): Mistake[] {
  const file = section(document.value(document.root))
  const said = [
    ...addressSayings(file),
    ...workerSayings(file),
    ...banSayings(section(file['bans'])),
    ...upstreamSayings(file),
    ...routeSayings(file),
    ...deprecationSayings(file),
    ...proxySayings(file),
  ]
  return said.map(([path, sentence]) => ({
    offset: document.offsetOf(path),
    sentence: `${nameOf(path)} ${sentence}`,
  }))
}

function* addressSayings({ listen, admin }: Section): Generator<Saying> {
  const [callers, operators] = [section(listen), section(admin)]
  const isSame = callers['port'] === operators['port'] && callers['host'] === operators['host']
  if (isSame && Number(callers['port']) > 0) {
    yield [['admin', 'port'], 'must be another one than listen.port']
  }
}

function* workerSayings({ workers, store }: Section): Generator<Saying> {
  const { redis = '' } = section(store)
  const isMany = workers === 'auto' || Number(workers) > 1
  if (isMany && redis === '') {
    yield [
      ['workers'],
      'needs a store in Redis: what is counted in a file is counted by one process. Set store.redis, or workers: 1',
    ]
  }
}

function* banSayings({ for: first, atMost }: Section): Generator<Saying> {
  const [firstMs, mostMs] = [durationFrom(text(first) ?? '5m'), durationFrom(text(atMost) ?? '1h')]
  if (firstMs !== undefined && mostMs !== undefined && mostMs < firstMs) {
    yield [['bans', 'atMost'], `must not be shorter than bans.for, which is ${text(first) ?? '5m'}`]
  }
}

function* upstreamSayings(file: Section): Generator<Saying> {
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    const { tls, probes } = section(upstream)
    const ca = text(section(tls)['ca'])
    const why = ca === undefined ? undefined : unreadable(ca)
    if (why !== undefined) yield [['upstreams', name, 'tls', 'ca'], `can't be read: ${why}`]
    for (const [i, probe] of list(probes).entries()) {
      const [, target = ''] = (text(section(probe)['request']) ?? '').split(' ')
      const [path = ''] = target.split('?', 1)
      const isLed = list(file['routes']).some(
        (route) => section(route)['upstream'] === name && leadsTo(route, path),
      )
      if (path !== '' && !isLed) {
        yield [['upstreams', name, 'probes', i, 'request'], 'is led here by no route']
      }
    }
  }
}

function* routeSayings(file: Section): Generator<Saying> {
  const names = Object.keys(section(file['upstreams']))
  const paths = new Set<string>()
  for (const [i, route] of list(file['routes']).entries()) {
    const { path, upstream, rewrite } = section(route)
    const [written, target] = [text(path), text(upstream)]
    if (target !== undefined && !names.includes(target)) {
      const near = nearest(target, names)
      const there = names.length > 0 ? `there are ${names.join(', ')}` : 'there are none'
      const hint = near === undefined ? there : `did you mean ${near}?`
      yield [['routes', i, 'upstream'], `names no upstream, got ${JSON.stringify(target)}; ${hint}`]
    }
    if (written === undefined) continue
    if (rewrite !== undefined && !written.endsWith('/*')) {
      yield [['routes', i, 'rewrite'], 'takes a path that ends in /* as well']
    }
    if (rewrite !== undefined && written.includes('{')) {
      yield [['routes', i, 'rewrite'], 'takes a path without {names}']
    }
    if (paths.has(written)) yield [['routes', i, 'path'], `is there twice: ${written}`]
    paths.add(written)
  }
}

function* deprecationSayings(file: Section): Generator<Saying> {
  const operations = new Set<string>()
  for (const [i, deprecation] of list(file['deprecations']).entries()) {
    const { operation, since, sunset, brownouts } = section(deprecation)
    const place = ['deprecations', i] as const
    const written = text(operation)
    if (written !== undefined) {
      const [method = '', path = ''] = written.split(' ')
      const isLed = list(file['routes']).some((route) => {
        const methods = section(route)['methods']
        return leadsTo(route, path) && (!Array.isArray(methods) || methods.includes(method))
      })
      if (!isLed) yield [[...place, 'operation'], `is covered by no route: ${written}`]
      if (operations.has(written)) yield [[...place, 'operation'], `is there twice: ${written}`]
      operations.add(written)
    }
    const [sinceMs, sunsetMs] = [instant(since), instant(sunset)]
    if (sinceMs !== undefined && sunsetMs !== undefined && sunsetMs < sinceMs) {
      yield [[...place, 'sunset'], `must not be before since, which is ${text(since)}`]
    }
    yield* brownoutSayings([...place, 'brownouts'], list(brownouts))
  }
}

function* brownoutSayings(place: Path, brownouts: readonly unknown[]): Generator<Saying> {
  const seen: { from: number; to: number }[] = []
  for (const [i, brownout] of brownouts.entries()) {
    const { from: written, to: end } = section(brownout)
    const [from, to] = [instant(written), instant(end)]
    if (from === undefined || to === undefined) continue
    if (to <= from) yield [[...place, i, 'to'], `must be after from, which is ${text(written)}`]
    const other = seen.findIndex((each) => from < each.to && each.from < to)
    if (other >= 0) yield [[...place, i], `overlaps with ${nameOf([...place, other])}`]
    seen.push({ from, to })
  }
}

function* proxySayings(file: Section): Generator<Saying> {
  for (const [i, range] of list(file['trustedProxies']).entries()) {
    const written = text(range)
    if (written === undefined) continue
    try {
      new Ranges([written])
    } catch {
      const expected = 'must be an address or a range such as 10.0.0.0/8 or 2001:db8::/32'
      yield [['trustedProxies', i], `${expected}, got ${JSON.stringify(written)}`]
    }
  }
}

function leadsTo(route: unknown, path: string): boolean {
  const pattern = text(section(route)['path'])
  return pattern !== undefined && pathExpression(pattern).test(path)
}

function unreadable(file: string): string | undefined {
  try {
    readFileSync(file)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function section(value: unknown): Section {
  const isSection = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isSection ? (value as Section) : {}
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function instant(value: unknown): number | undefined {
  return typeof value === 'string' ? instantFrom(value) : undefined
}
