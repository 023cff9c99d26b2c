import { shapeOf, withHead } from '../methods.ts'
import { nearest } from '../near.ts'
import { pathPattern } from '../values.ts'
import { entriesIn, methodFault, pathFault, type KnownEntry } from './entries.ts'
import { list, mistake, section, text, type Quote, type Saying, type Section } from './saying.ts'

const paths = new RegExp(pathPattern)

export function* routeSayings(file: Section, quote: Quote): Generator<Saying> {
  const { path: quotaPath }: Section = { path: '/v1/quota', ...section(file['quota']) }
  if (typeof quotaPath === 'string' && paths.test(quotaPath)) {
    const fault = pathFault(quotaPath, quote(['quota', 'path']))
    if (fault !== undefined) yield mistake(['quota', 'path'], fault)
  }
  for (const [i, route] of list(file['routes']).entries()) {
    const { path, rewrite } = section(route)
    yield* upstreamSayings(file, i, quote)
    const written = text(path)
    if (written === undefined || !paths.test(written)) continue
    const place = ['routes', i, 'path'] as const
    const fault = pathFault(written, quote(place))
    if (fault !== undefined) yield mistake(place, fault)
    if (rewrite !== undefined && !written.endsWith('/*')) {
      yield mistake(['routes', i, 'rewrite'], 'takes a path that ends in /* as well')
    }
    if (rewrite !== undefined && written.includes('{')) {
      yield mistake(['routes', i, 'rewrite'], 'takes a path without {names}')
    }
    if (written === quotaPath) {
      yield mistake(place, `is quota.path, where the gateway itself answers: ${quote(place)}`)
    }
  }
  const entries = entriesIn(file)
  yield* methodSayings(entries, quote)
  yield* restSayings(entries, quote)
}

function* upstreamSayings(file: Section, i: number, quote: Quote): Generator<Saying> {
  const names = Object.keys(section(file['upstreams']))
  const target = text(section(list(file['routes'])[i])['upstream'])
  if (target === undefined || names.includes(target)) return
  const near = nearest(target, names)
  const there = names.length > 0 ? `there are ${names.join(', ')}` : 'there are none'
  const hint = near === undefined ? there : `did you mean ${near}?`
  const place = ['routes', i, 'upstream'] as const
  yield mistake(place, `names no upstream, got "${quote(place)}"; ${hint}`)
}

/** Each method of a path leads to one place. */
function* methodSayings(entries: readonly KnownEntry[], quote: Quote): Generator<Saying> {
  const taken = new Map<string, number>()
  for (const [i, { path, methods = [] }] of entries.entries()) {
    const shape = shapeOf(path)
    for (const [j, method] of methods.entries()) {
      const place = ['routes', i, 'methods', j] as const
      const fault = /^[A-Z-]+$/.test(method) ? methodFault(method, quote(place)) : undefined
      // GET brings HEAD along.
      const both = methods.includes('HEAD') ? [method] : withHead([method])
      const double = both.find((each) => path !== '' && taken.has(`${each} ${shape}`))
      if (fault !== undefined) yield mistake(place, fault)
      else if (methods.indexOf(method) < j) yield mistake(place, `is there twice: ${method}`)
      else if (double !== undefined) {
        const why = double === 'HEAD' ? ', which goes with GET' : ''
        const other = taken.get(`${double} ${shape}`) ?? i
        yield mistake(place, `leads to routes[${other}] already: ${double}${why}`)
      }
    }
    for (const method of withHead(methods)) taken.set(`${method} ${shape}`, i)
  }
}

/** One entry of a path, at most, names no methods: it has those that the others leave. */
function* restSayings(entries: readonly KnownEntry[], quote: Quote): Generator<Saying> {
  const rests = new Map<string, number>()
  for (const [i, { path, methods, own }] of entries.entries()) {
    if (path === '' || methods !== undefined) continue
    const place = ['routes', i, 'path'] as const
    const shape = shapeOf(path)
    const other = rests.get(shape)
    if (other === undefined) {
      rests.set(shape, i)
      if (own.length === 0) {
        yield mistake(place, `has no method that another entry doesn't name: ${quote(place)}`)
      }
    } else if (entries[other]?.path === path) {
      yield mistake(place, `is there twice: ${quote(place)}`)
    } else {
      const sentence = `is the path of routes[${other}] with other names: ${quote(place)}`
      yield mistake(place, sentence)
    }
  }
}
