import { noUpstream } from '../../../front/config/asking.ts'
import { shapeOf } from '../../../front/http/paths.ts'
import { nameOf } from '../check.ts'
import { withHead } from '../../../front/http/methods.ts'
import { nearest } from '../../../../shared/near.ts'
import { methodFault, pathFault } from './entries.ts'
import type { KnownFile } from '../defaults.ts'
import { mistake, type KnownEntry, type Checked, type Quote, type Remark } from './remarks.ts'
import { pagePaths, resourcePath, ticketPath } from '../../../front/http/own-paths.ts'
import type { Path } from '../mistake.ts'

export function* routeRemarks(
  { file, quote }: Pick<Checked, 'file' | 'quote'>,
  entries: readonly KnownEntry[],
): Generator<Remark> {
  const ownPaths = ownPathsIn(file)
  yield* ownPathRemarks(ownPaths, quote)
  for (const [i, { path, rewrite, upstream } = {}] of (file.routes ?? []).entries()) {
    yield* upstreamRemarks(['routes', i, 'upstream'], upstream, file, quote)
    if (path === undefined) continue
    const setting = ['routes', i, 'path'] as const
    const fault = pathFault(path, () => quote(setting))
    if (fault !== undefined) yield mistake(setting, fault)
    if (rewrite !== undefined && rewrite !== '/' && !path.endsWith('/*')) {
      yield mistake(['routes', i, 'rewrite'], 'needs a path that ends in /*, or must be /')
    }
    if (rewrite !== undefined && path.includes('{')) {
      yield mistake(['routes', i, 'rewrite'], 'needs a path without {names}')
    }
    const own = ownPaths.find((each) => each.path === path)
    if (own) {
      const sentence = `is ${nameOf(own.setting)}, where the gateway itself answers: ${quote(setting)}`
      yield mistake(setting, sentence)
    }
  }
  yield* methodRemarks(file, entries, quote)
  yield* scopeRemarks(file, entries)
  yield* restRemarks(entries, quote)
}

function* upstreamRemarks(
  setting: Path,
  target: string | undefined,
  { upstreams = {} }: KnownFile,
  quote: Quote,
): Generator<Remark> {
  const names = Object.keys(upstreams)
  // Routes without an upstream are looked at in decide.ts.
  if (target === undefined || target === noUpstream || names.includes(target)) return
  const near = nearest(target, names)
  const all = names.length > 0 ? `there are ${names.join(', ')}` : 'no upstream is configured'
  const hint = near === undefined ? all : `did you mean ${near}?`
  yield mistake(setting, `names an unknown upstream, got "${quote(setting)}"; ${hint}`)
}

/** Each method of a path belongs to one entry only. */
function* methodRemarks(
  { routes = [] }: KnownFile,
  entries: readonly KnownEntry[],
  quote: Quote,
): Generator<Remark> {
  const entryByMethod = new Map<string, number>()
  for (const [i, { path, own, hasMethods }] of entries.entries()) {
    const shape = shapeOf(path)
    const methods = routes[i]?.methods ?? []
    for (const [j, method] of methods.entries()) {
      if (method === undefined) continue
      const setting = ['routes', i, 'methods', j] as const
      const fault = methodFault(method, () => quote(setting))
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
    if (hasMethods) for (const method of own) entryByMethod.set(`${method} ${shape}`, i)
  }
}

/** Scopes by method name each method that their entry forwards, and no other. */
function* scopeRemarks(
  { routes = [] }: KnownFile,
  entries: readonly KnownEntry[],
): Generator<Remark> {
  for (const [i, { own, isOpen }] of entries.entries()) {
    const scopes = routes[i]?.scopes ?? []
    const named = Array.isArray(scopes) ? [] : Object.keys(scopes)
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
  for (const [i, { path, hasMethods, own }] of entries.entries()) {
    if (path === '' || hasMethods) continue
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
function ownPathsIn({ quota, usage, portal, tickets, jwt = [] }: KnownFile): OwnPath[] {
  const at = (setting: Path, ...paths: (string | undefined)[]): OwnPath[] =>
    paths.flatMap((path) => (path === undefined ? [] : [{ path, setting }]))
  return [
    ...at(['quota', 'path'], typeof quota === 'object' ? quota.path : undefined),
    ...at(['usage', 'path'], typeof usage === 'object' ? usage.path : undefined),
    ...at(['portal', 'path'], ...(portal?.path === undefined ? [] : pagePaths(portal.path))),
    ...(tickets === 'on' ? at(['tickets'], ticketPath) : []),
    ...(jwt.length > 0 ? at(['jwt'], resourcePath) : []),
  ]
}

/** Each of the gateway's own paths can be asked for, and is for one thing. */
function* ownPathRemarks(ownPaths: readonly OwnPath[], quote: Quote): Generator<Remark> {
  const settings = new Map<string, Path>()
  for (const { path, setting } of ownPaths) {
    const other = settings.get(path)
    const shown = quote(setting)
    const fault =
      other === undefined || other === setting ? pathFault(path, () => shown) : undefined
    if (fault !== undefined && other === undefined) yield mistake(setting, fault)
    else if (other !== undefined) yield mistake(setting, `is ${nameOf(other)} as well: ${shown}`)
    settings.set(path, setting)
  }
}
