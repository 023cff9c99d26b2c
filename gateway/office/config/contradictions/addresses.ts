import { isLoopback } from '../../../../shared/serve.ts'
import { Ranges } from '../../../front/http/address.ts'
import {
  isInternalName,
  isThisMachine,
  unbracketed,
  whyInternal,
} from '../../../front/http/networks.ts'
import { section } from '../../../front/http/page/sections.ts'
import type { Path } from '../mistake.ts'
import { mistake, warning, type Checked, type Quote, type Remark } from './remarks.ts'

/** Callers and operators need different addresses, and the admin address needs a token if others can reach it. */
export function* addressRemarks({ file, written, quote, adminToken }: Checked): Generator<Remark> {
  const { listen = {}, admin = {} } = file
  const { host, port } = admin
  if (port && listen.port === port && isOneHost(listen.host, host)) {
    const isUsual = section(written['admin'])['port'] === undefined
    const [one, other] = isUsual ? ['listen', 'admin'] : ['admin', 'listen']
    const sentence = `must differ from ${other}.port, which is ${quote([other, 'port'])}`
    yield mistake([one, 'port'], sentence)
  }
  if (host !== undefined && !isLoopback(host) && !adminToken && !('trust' in admin)) {
    const sentence = `is ${quote(['admin', 'host'])}, which other machines can reach: the gateway starts only with ADMIN_TOKEN or admin.trust`
    yield warning(['admin', 'host'], sentence)
  }
}

/** Who can name operators by a header: nobody should who runs on this machine. */
export function* trustRemarks({ file, quote }: Checked): Generator<Remark> {
  const from = file.admin?.trust?.from ?? []
  const at: Path = ['admin', 'trust', 'from']
  yield* rangeRemarks(at, from, quote)
  for (const [i, range] of from.entries()) {
    const ranges = rangesIn(range)
    if (!ranges?.has('127.0.0.1') && !ranges?.has('::1')) continue
    const sentence = `has this machine's own address: every program on it can say that it is any operator, got "${quote([...at, i])}"`
    yield warning([...at, i], sentence)
  }
}

/** Whether listeners at these two hosts can't use the same port. */
export function isOneHost(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return false
  const hosts = [one, other].map((host) => host.toLowerCase())
  if (hosts.some((host) => host === '0.0.0.0' || host === '::')) return true
  const [first, second] = hosts.map((host) => (host === 'localhost' ? '127.0.0.1' : host))
  return first === second
}

export function proxyRemarks({ file, quote }: Checked): Iterable<Remark> {
  return rangeRemarks(['trustedProxies'], file.trustedProxies, quote)
}

type Ranged = readonly (string | undefined)[]

/** Each of a list is an address, or a range of them. */
function* rangeRemarks(at: Path, ranges: Ranged = [], quote: Quote): Generator<Remark> {
  for (const [i, range] of ranges.entries()) {
    const expected = 'must be an address or a range such as 10.0.0.0/8 or 2001:db8::/32'
    const setting = [...at, i]
    if (range !== undefined && !rangesIn(range)) {
      yield mistake(setting, `${expected}, got "${quote(setting)}"`)
    }
  }
}

/** The range of a text; `undefined` if it isn't one. */
function rangesIn(range: string | undefined): Ranges | undefined {
  try {
    return range === undefined ? undefined : new Ranges([range])
  } catch {
    return undefined
  }
}

/** Origins must be spelled as browsers spell them, because they are compared letter by letter. */
export function* originRemarks({ file, quote }: Checked): Generator<Remark> {
  for (const [i, origin = '*'] of (file.cors?.origins ?? []).entries()) {
    if (origin === '*') continue
    const setting = ['cors', 'origins', i] as const
    const url = URL.parse(origin)
    if (origin.includes('*')) {
      const expected = "must be an origin without *, or '*' for all"
      yield mistake(setting, `${expected}, got "${quote(setting)}"`)
    } else if (url?.origin !== origin) {
      const shown = quote(setting)
      // The value of a variable is never shown, so nothing made of it is.
      const hint = url && shown === origin ? `; did you mean ${url.origin}?` : ''
      yield mistake(setting, `must be an origin as browsers spell it, got "${shown}"${hint}`)
    }
  }
}

/** A URL that the gateway itself asks, and the addresses outside the internet that it may lead to. */
type Outgoing = Readonly<{
  at: Path
  url: string | undefined
  /** The ranges of the setting `allow` beside it. */
  allow: Ranged | undefined
  /** Why the URL must not be had besides. */
  fault?: string | undefined
  /** What goes there, such as `notices go there`, and what this machine alone may be by plain http. */
  what: string
  plainly: string
  /** Whether addresses in `allow` may be asked by plain http as well. */
  isPlainAllowed?: boolean
}>

/** The URL is encrypted, or leads to this machine or to where its entry allows it. */
export function* outgoingRemarks(outgoing: Outgoing, quote: Quote): Generator<Remark> {
  const { at, url: written = '', allow = [], fault } = outgoing
  yield* rangeRemarks([...at.slice(0, -1), 'allow'], allow, quote)
  const url = URL.parse(written)
  const ranges = allow.flatMap((range) => (range && rangesIn(range) ? range : []))
  const why = url && (fault ?? urlFault(url, ranges, outgoing))
  if (!why) return
  // The value of a variable is never shown, so nothing made of it is.
  const isShown = !quote(at).includes('${')
  yield mistake(at, isShown ? why : why.replaceAll(unbracketed(url.hostname), 'ADDRESS'))
}

function urlFault(
  url: URL,
  ranges: readonly string[],
  { what, plainly, isPlainAllowed }: Outgoing,
): string | undefined {
  const host = unbracketed(url.hostname)
  if (url.username !== '' || url.password !== '') return 'must have no user name and no password'
  if (isThisMachine(url.hostname)) return undefined
  const mayBePlain = isPlainAllowed && ranges.length > 0
  if (url.protocol === 'http:' && !mayBePlain) return `must be https: ${plainly} by plain http`
  const internal = whyInternal(host)
  if (
    internal === undefined &&
    isInternalName(host) &&
    ranges.length === 0 &&
    !host.includes(':')
  ) {
    return `is ${host}, a name of an internal network: ${what} only if its addresses are in allow, such as allow: [10.0.0.0/8]`
  }
  if (internal === undefined || new Ranges(ranges).has(host)) return undefined
  return `is ${host}, an address ${internal}: ${what} only if it is in allow, such as allow: [${host}]`
}
