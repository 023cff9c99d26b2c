import { noUpstream } from '../../../front/config/asking.ts'
import { shapeOf } from '../../../front/http/paths.ts'
import { nameOf } from '../check.ts'
import { withHead } from '../../../front/http/methods.ts'
import { nearest } from '../../../../shared/near.ts'
import { methodFault, pathFault, pathIn, type KnownEntry } from './entries.ts'
import { list, mistake, section, text, type Quote, type Remark, type Section } from './remarks.ts'
import { keyPaths, pagePaths, resourcePath } from '../../../front/http/own-paths.ts'
import type { Path } from '../mistake.ts'

export function* routeRemarks(
  file: Section,
  entries: readonly KnownEntry[],
  quote: Quote,
): Generator<Remark> {
  const ownPaths = ownPathsIn(file)
  yield* ownPathRemarks(file, quote)
  for (const [i, route] of list(file['routes']).entries()) {
    const { path, rewrite } = section(route)
    yield* upstreamRemarks(file, i, quote)
    const written = pathIn(path)
    if (written === undefined) continue
    const setting = ['routes', i, 'path'] as const
    const fault = pathFault(written, () => quote(setting))
    if (fault !== undefined) yield mistake(setting, fault)
    if (rewrite !== undefined && rewrite !== '/' && !written.endsWith('/*')) {
      yield mistake(['routes', i, 'rewrite'], 'needs a path that ends in /*, or must be /')
    }
    if (rewrite !== undefined && written.includes('{')) {
      yield mistake(['routes', i, 'rewrite'], 'needs a path without {names}')
    }
    const own = ownPaths.find(({ path }) => path === written)
    if (own) {
      const sentence = `is ${nameOf(own.setting)}, where the gateway itself answers: ${quote(setting)}`
      yield mistake(setting, sentence)
    }
  }
  yield* methodRemarks(entries, quote)
  yield* scopeRemarks(file, entries)
  yield* restRemarks(entries, quote)
}

function* upstreamRemarks(file: Section, i: number, quote: Quote): Generator<Remark> {
  const names = Object.keys(section(file['upstreams']))
  const target = text(section(list(file['routes'])[i])['upstream'])
  // Routes without an upstream are looked at in decide.ts.
  if (target === undefined || target === noUpstream || names.includes(target)) return
  const near = nearest(target, names)
  const all = names.length > 0 ? `there are ${names.join(', ')}` : 'no upstream is configured'
  const hint = near === undefined ? all : `did you mean ${near}?`
  const setting = ['routes', i, 'upstream'] as const
  yield mistake(setting, `names an unknown upstream, got "${quote(setting)}"; ${hint}`)
}

/** Each method of a path belongs to one entry only. */
function* methodRemarks(entries: readonly KnownEntry[], quote: Quote): Generator<Remark> {
  const entryByMethod = new Map<string, number>()
  for (const [i, { path, methods = [] }] of entries.entries()) {
    const shape = shapeOf(path)
    for (const [j, method] of methods.entries()) {
      const setting = ['routes', i, 'methods', j] as const
      const fault = /^[A-Z-]+$/.test(method) ? methodFault(method, () => quote(setting)) : undefined
      // GET includes HEAD.
      const both = methods.includes('HEAD') ? [method] : withHead([method])
      const double = both.find((each) => path !== '' && entryByMethod.has(`${each} ${shape}`))
      if (fault !== undefined) yield mistake(setting, fault)
      else if (methods.indexOf(method) < j) yield mistake(setting, `is listed twice: ${method}`)
      else if (double !== undefined) {
        const why = double === 'HEAD' ? ', which GET includes' : ''
        const other = entryByMethod.get(`${double} ${shape}`) ?? i
        yield mistake(setting, `belongs to routes[${other}] already: ${double}${why}`)
      }
    }
    for (const method of withHead(methods)) entryByMethod.set(`${method} ${shape}`, i)
  }
}

/** Scopes by method name each method that their entry forwards, and no other. */
function* scopeRemarks(file: Section, entries: readonly KnownEntry[]): Generator<Remark> {
  for (const [i, route] of list(file['routes']).entries()) {
    const { scopes } = section(route)
    const { own = [], isOpen = true } = entries[i] ?? {}
    const named = Array.isArray(scopes) ? [] : Object.keys(section(scopes))
    if (named.length === 0 || isOpen) continue
    const setting = ['routes', i, 'scopes'] as const
    const unnamed = own.filter((each) => !withHead(named).includes(each)).join(', ')
    if (unnamed !== '' && !named.includes('*')) {
      yield mistake(setting, `names no scopes for ${unnamed}: name them, or '*' for all others`)
    }
    for (const method of named) {
      if (method === '*' || own.includes(method)) continue
      yield mistake([...setting, method], `is a method that this entry doesn’t forward: ${method}`)
    }
  }
}

/** At most one entry of a path names no methods: it forwards those that the others leave. */
function* restRemarks(entries: readonly KnownEntry[], quote: Quote): Generator<Remark> {
  const rests = new Map<string, number>()
  for (const [i, { path, methods, own }] of entries.entries()) {
    if (path === '' || methods !== undefined) continue
    const setting = ['routes', i, 'path'] as const
    const shape = shapeOf(path)
    const other = rests.get(shape)
    if (other === undefined) {
      rests.set(shape, i)
      if (own.length === 0) {
        yield mistake(
          setting,
          `has no methods left, because other entries name them all: ${quote(setting)}`,
        )
      }
    } else if (entries[other]?.path === path) {
      yield mistake(setting, `is listed twice: ${quote(setting)}`)
    } else {
      const sentence = `is the same path as that of routes[${other}], with other names: ${quote(setting)}`
      yield mistake(setting, sentence)
    }
  }
}

/** A path at which the gateway itself answers, and the setting that puts it there. */
type OwnPath = Readonly<{ path: string; setting: Path }>

/** The gateway's own paths, as far as no variable decides them. */
function ownPathsIn(file: Section): OwnPath[] {
  const at = (name: string): OwnPath[] => {
    const path = pathIn(section(file[name])['path'])
    return path === undefined ? [] : [{ path, setting: [name, 'path'] }]
  }
  // A path that ends in / breaks its own rule.
  const pages = at('portal').filter(({ path }) => !path.endsWith('/'))
  const canRotate = section(file['portal'])['rotate'] === 'on'
  return [
    ...at('quota'),
    ...at('usage'),
    ...pages.flatMap(({ path, setting }) =>
      pagePaths(path).map((each) => ({ path: each, setting })),
    ),
    ...(file['tickets'] === 'on' ? [{ path: keyPaths.ticket, setting: ['tickets'] }] : []),
    ...(canRotate ? [{ path: keyPaths.rotate, setting: ['portal', 'rotate'] }] : []),
    ...(list(file['jwt']).length > 0 ? [{ path: resourcePath, setting: ['jwt'] }] : []),
  ]
}

/** Each of the gateway's own paths can be asked for, and is for one thing. */
function* ownPathRemarks(file: Section, quote: Quote): Generator<Remark> {
  const settings = new Map<string, Path>()
  for (const { path, setting } of ownPathsIn(file)) {
    const other = settings.get(path)
    const shown = quote(setting)
    const fault =
      other === undefined || other === setting ? pathFault(path, () => shown) : undefined
    if (fault !== undefined && other === undefined) yield mistake(setting, fault)
    else if (other !== undefined) yield mistake(setting, `is ${nameOf(other)} as well: ${shown}`)
    settings.set(path, setting)
  }
}
