import { accessSync, constants, statSync } from 'node:fs'
import { Ranges } from '../address.ts'
import { pathExpression } from '../paths.ts'
import { nameOf } from './check.ts'
import type { ConfigDocument, Mistake, Path } from './document.ts'
import { nearest } from './near.ts'
import { durationFrom, instantFrom } from './units.ts'

type Section = Readonly<Record<string, unknown>>

/** A sentence about a setting, which is said before it by its name. */
type Saying = readonly [path: Path, sentence: string]

/** What is written at a place, for a sentence: never what a variable of the environment says. */
type Quote = (path: Path) => string

/** A file of certificates is much smaller; all that everybody believes take a quarter of it. */
const mostCertificateBytes = 2 ** 20

/**
 * What no single setting has wrong, but several together, or with the world. A setting that is wrong by
 * itself is told elsewhere, and passed over here, as is one that isn't known. Who may not look at this
 * machine's files learns nothing of them: `world` is false then.
 */
export function contradictionsIn(document: ConfigDocument, world: boolean): Mistake[] {
  const file = section(document.known())
  const quote: Quote = (path) => document.wordAt(path) ?? ''
  const said = [
    ...addressSayings(file),
    ...workerSayings(file),
    ...banSayings(section(file['bans']), quote),
    ...(world ? certificateSayings(file) : []),
    ...probeSayings(file),
    ...routeSayings(file, quote),
    ...deprecationSayings(file, quote),
    ...proxySayings(file, quote),
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
  const { redis } = { redis: '', ...section(store) }
  const isMany = workers === 'auto' || Number(workers) > 1
  if (isMany && redis === '') {
    yield [
      ['workers'],
      'needs a store in Redis: what is counted in a file is counted by one process. Set store.redis, or workers: 1',
    ]
  }
}

function* banSayings(bans: Section, quote: Quote): Generator<Saying> {
  const { for: first, atMost } = { for: '5m', atMost: '1h', ...bans }
  const [firstMs, mostMs] = [durationFrom(text(first) ?? ''), durationFrom(text(atMost) ?? '')]
  if (firstMs !== undefined && mostMs !== undefined && mostMs < firstMs) {
    const written = quote(['bans', 'for']) || first
    yield [['bans', 'atMost'], `must not be shorter than bans.for, which is ${written}`]
  }
}

function* certificateSayings(file: Section): Generator<Saying> {
  const { redis } = section(file['store'])
  const places: [Path, unknown][] = [[['store', 'redis', 'tls', 'ca'], section(redis)['tls']]]
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    places.push([['upstreams', name, 'tls', 'ca'], section(upstream)['tls']])
  }
  for (const [place, tls] of places) {
    const ca = text(section(tls)['ca'])
    const why = ca === undefined ? undefined : unreadable(ca)
    if (why !== undefined) yield [place, `can't be read: ${why}`]
  }
}

function* probeSayings(file: Section): Generator<Saying> {
  for (const [name, upstream] of Object.entries(section(file['upstreams']))) {
    for (const [i, probe] of list(section(upstream)['probes']).entries()) {
      const [, target = ''] = (text(section(probe)['request']) ?? '').split(' ')
      const [path = ''] = target.split('?', 1)
      const isLed = list(file['routes']).some((route) => {
        const { upstream: led } = section(route)
        return (led === undefined || led === name) && leadsTo(route, path)
      })
      if (path !== '' && !isLed) {
        yield [['upstreams', name, 'probes', i, 'request'], 'is led here by no route']
      }
    }
  }
}

function* routeSayings(file: Section, quote: Quote): Generator<Saying> {
  const names = Object.keys(section(file['upstreams']))
  const paths = new Set<string>()
  for (const [i, route] of list(file['routes']).entries()) {
    const { path, upstream, rewrite } = section(route)
    const [written, target] = [text(path), text(upstream)]
    if (target !== undefined && !names.includes(target)) {
      const near = nearest(target, names)
      const there = names.length > 0 ? `there are ${names.join(', ')}` : 'there are none'
      const hint = near === undefined ? there : `did you mean ${near}?`
      const place = ['routes', i, 'upstream'] as const
      yield [place, `names no upstream, got "${quote(place)}"; ${hint}`]
    }
    if (written === undefined) continue
    if (rewrite !== undefined && !written.endsWith('/*')) {
      yield [['routes', i, 'rewrite'], 'takes a path that ends in /* as well']
    }
    if (rewrite !== undefined && written.includes('{')) {
      yield [['routes', i, 'rewrite'], 'takes a path without {names}']
    }
    const place = ['routes', i, 'path'] as const
    if (paths.has(written)) yield [place, `is there twice: ${quote(place)}`]
    paths.add(written)
  }
}

function* deprecationSayings(file: Section, quote: Quote): Generator<Saying> {
  const operations = new Set<string>()
  for (const [i, deprecation] of list(file['deprecations']).entries()) {
    const { operation, since, sunset, brownouts } = section(deprecation)
    const place = ['deprecations', i] as const
    const written = text(operation)
    if (written !== undefined) {
      const [method = '', path = ''] = written.split(' ')
      const isLed = list(file['routes']).some((route) => {
        const methods = section(route)['methods']
        const isAny = !Array.isArray(methods) || methods.includes(undefined)
        return leadsTo(route, path) && (isAny || methods.includes(method))
      })
      const told = quote([...place, 'operation'])
      if (!isLed) yield [[...place, 'operation'], `is covered by no route: ${told}`]
      if (operations.has(written)) yield [[...place, 'operation'], `is there twice: ${told}`]
      operations.add(written)
    }
    const [sinceMs, sunsetMs] = [instant(since), instant(sunset)]
    if (sinceMs !== undefined && sunsetMs !== undefined && sunsetMs < sinceMs) {
      const told = quote([...place, 'since'])
      yield [[...place, 'sunset'], `must not be before since, which is ${told}`]
    }
    yield* brownoutSayings([...place, 'brownouts'], list(brownouts), quote)
  }
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
    if (to <= from) yield [[...place, i, 'to'], `must be after from, which is ${told}`]
    const other = seen.findIndex((each) => from < each.to && each.from < to)
    if (other >= 0) yield [[...place, i], `overlaps with ${nameOf([...place, other])}`]
    seen.push({ from, to })
  }
}

function* proxySayings(file: Section, quote: Quote): Generator<Saying> {
  for (const [i, range] of list(file['trustedProxies']).entries()) {
    const written = text(range)
    if (written === undefined) continue
    try {
      new Ranges([written])
    } catch {
      const expected = 'must be an address or a range such as 10.0.0.0/8 or 2001:db8::/32'
      const place = ['trustedProxies', i] as const
      yield [place, `${expected}, got "${quote(place)}"`]
    }
  }
}

/** Whether a route may lead to a path; of one whose own path isn't known, nobody can say that it doesn't. */
function leadsTo(route: unknown, path: string): boolean {
  const pattern = text(section(route)['path'])
  return pattern === undefined || pathExpression(pattern).test(path)
}

/** Why a file can't be used, if it can't: never with its name, which may be from the environment. */
function unreadable(file: string): string | undefined {
  try {
    const found = statSync(file)
    if (!found.isFile()) return 'this is no file'
    if (found.size > mostCertificateBytes) {
      return `it has ${found.size} bytes, and may have ${mostCertificateBytes}`
    }
    accessSync(file, constants.R_OK)
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return code === 'ENOENT' ? 'there is no such file' : `the system says ${String(code)}`
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
