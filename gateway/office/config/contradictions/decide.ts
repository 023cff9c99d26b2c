import { isLoopback } from '../../../../shared/serve.ts'
import { noUpstream } from '../../../front/config/asking.ts'
import { list, section, type Section } from '../../../front/http/page/sections.ts'
import { isOneHost } from './addresses.ts'
import { planSections } from './entries.ts'
import type { KnownFile } from '../defaults.ts'
import { mistake, warning, type Checked, type Remark } from './remarks.ts'

/** The address for proxies that ask, and the routes that are only decided there. */
export function* decideRemarks(checked: Checked): Generator<Remark> {
  const { file, written } = checked
  if ('decide' in file) yield* addressRemarks(checked)
  if (noUpstream in (file.upstreams ?? {})) {
    const sentence = `can't be the name of an upstream: it stands for routes that are only decided`
    yield mistake(['upstreams', noUpstream], sentence)
  }
  const routes = list(written['routes']).map(section)
  const decided = routes.flatMap(({ upstream }, i) => (upstream === noUpstream ? [i] : []))
  for (const i of decided) yield* routeRemarks(file, i, routes[i] ?? {})
  const isSure = routes.every(({ upstream }) => typeof upstream === 'string')
  if ('decide' in file && decided.length === 0 && isSure) {
    const sentence = `has nothing to decide: no route has upstream: ${noUpstream}`
    yield warning(['decide'], sentence)
  }
  if (decided.length > 0) yield* placeRemarks(file)
}

function* addressRemarks({ file, quote }: Checked): Generator<Remark> {
  const { decide = {} } = file
  const { host, port } = decide
  for (const other of ['listen', 'admin'] as const) {
    if (!port || port !== file[other]?.port || !isOneHost(host, file[other].host)) continue
    const sentence = `must differ from ${other}.port, which is ${quote([other, 'port'])}`
    yield mistake(['decide', 'port'], sentence)
  }
  if (host !== undefined && !isLoopback(host) && !('token' in decide)) {
    const sentence = `is ${quote(['decide', 'host'])}, which other machines can reach: it needs decide.token`
    yield mistake(['decide', 'host'], sentence)
  }
}

function* routeRemarks(file: KnownFile, i: number, route: Section): Generator<Remark> {
  const at = ['routes', i] as const
  if (!('decide' in file)) {
    const sentence = `is ${noUpstream}, and no section decide says where a proxy asks`
    yield mistake([...at, 'upstream'], sentence)
  }
  for (const setting of ['rewrite', 'bodyLimit']) {
    if (!(setting in route)) continue
    const sentence = `is for requests that are forwarded here: the proxy that asks has a setting of its own`
    yield mistake([...at, setting], sentence)
  }
  if (section(route['cost'])['from'] !== undefined) {
    const sentence = `is told by an answer, which only the proxy that asks has: the estimate is what counts`
    yield warning([...at, 'cost'], sentence)
  }
}

/** Nobody tells when the answer to what was decided has ended. */
function* placeRemarks(file: KnownFile): Generator<Remark> {
  for (const [path, limits] of planSections(file)) {
    if (!('atOnce' in limits) || limits.atOnce === 'unlimited') continue
    const sentence = `limits no request of routes with upstream: ${noUpstream}, because only the proxy that asks knows when they end`
    yield warning([...path, 'atOnce'], sentence)
  }
}
