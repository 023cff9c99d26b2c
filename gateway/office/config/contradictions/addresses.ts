import { isLoopback } from '../../../../shared/serve.ts'
import { Ranges } from '../../../front/http/address.ts'
import type { Path } from '../mistake.ts'
import {
  list,
  mistake,
  section,
  text,
  warning,
  type Quote,
  type Remark,
  type Section,
} from './remarks.ts'
import {
  isInternalName,
  isThisMachine,
  unbracketed,
  whyInternal,
} from '../../../front/http/networks.ts'

/** Callers and operators need different addresses, and the admin address needs a token if others can reach it. */
export function* addressRemarks(
  file: Section,
  written: Section,
  quote: Quote,
  adminToken: boolean,
): Generator<Remark> {
  const callers = section(file['listen'])
  const { host, port, trust } = section(file['admin'])
  if (callers['port'] === port && Number(port) > 0 && isOneHost(callers['host'], host)) {
    const isUsual = section(written['admin'])['port'] === undefined
    const [one, other] = isUsual ? ['listen', 'admin'] : ['admin', 'listen']
    const sentence = `must differ from ${other}.port, which is ${quote([other, 'port'])}`
    yield mistake([one, 'port'], sentence)
  }
  if (typeof host === 'string' && !isLoopback(host) && !adminToken && !trust) {
    const sentence = `is ${quote(['admin', 'host'])}, which other machines can reach: the gateway starts only with ADMIN_TOKEN or admin.trust`
    yield warning(['admin', 'host'], sentence)
  }
}

/** Who can name operators by a header: nobody should who runs on this machine. */
export function* trustRemarks(file: Section, quote: Quote): Generator<Remark> {
  const { from } = section(section(file['admin'])['trust'])
  const at: Path = ['admin', 'trust', 'from']
  yield* rangeRemarks(at, from, quote)
  for (const [i, range] of list(from).entries()) {
    const ranges = isRange(range) ? new Ranges([String(range)]) : undefined
    if (!ranges?.has('127.0.0.1') && !ranges?.has('::1')) continue
    const sentence = `has this machine's own address: every program on it can say that it is any operator, got "${quote([...at, i])}"`
    yield warning([...at, i], sentence)
  }
}

/** Whether listeners at these two hosts can't use the same port. */
export function isOneHost(one: unknown, other: unknown): boolean {
  if (typeof one !== 'string' || typeof other !== 'string') return false
  const hosts = [one, other].map((host) => host.toLowerCase())
  if (hosts.some((host) => host === '0.0.0.0' || host === '::')) return true
  const [first, second] = hosts.map((host) => (host === 'localhost' ? '127.0.0.1' : host))
  return first === second
}

/** Each of a list is an address, or a range of them. */
export function* rangeRemarks(at: Path, ranges: unknown, quote: Quote): Generator<Remark> {
  for (const [i, range] of list(ranges).entries()) {
    const expected = 'must be an address or a range such as 10.0.0.0/8 or 2001:db8::/32'
    const setting = [...at, i]
    if (!isRange(range)) yield mistake(setting, `${expected}, got "${quote(setting)}"`)
  }
}

/** Whether something that is a text is a range. */
function isRange(range: unknown): boolean {
  try {
    if (typeof range === 'string') new Ranges([range])
    return true
  } catch {
    return false
  }
}

/** Origins must be spelled as browsers spell them, because they are compared letter by letter. */
export function* originRemarks(file: Section, quote: Quote): Generator<Remark> {
  for (const [i, origin] of list(section(file['cors'])['origins']).entries()) {
    const setting = ['cors', 'origins', i] as const
    const written = text(origin)
    if (written === undefined || !/^https?:\/\/[^/?#@\s]+$/.test(written)) continue
    if (written.includes('*')) {
      const expected = "must be an origin without *, or '*' for all"
      yield mistake(setting, `${expected}, got "${quote(setting)}"`)
    } else if (!URL.canParse(written) || new URL(written).origin !== written) {
      const shown = quote(setting)
      // The value of a variable is never shown, so nothing made of it is.
      const isShown = URL.canParse(written) && shown === written
      const hint = isShown ? `; did you mean ${new URL(written).origin}?` : ''
      yield mistake(setting, `must be an origin as browsers spell it, got "${shown}"${hint}`)
    }
  }
}

/** A URL that the gateway itself asks, and the addresses outside the internet that it may lead to. */
type Outgoing = Readonly<{
  at: Path
  url: unknown
  /** The ranges of the setting `allow` beside it. */
  allow: unknown
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
  const { at, url: written, allow, fault } = outgoing
  yield* rangeRemarks([...at.slice(0, -1), 'allow'], allow, quote)
  const ranges = list(allow).flatMap((range) => (isRange(range) ? (text(range) ?? []) : []))
  const to = text(written)
  if (to === undefined || !URL.canParse(to)) return
  const url = new URL(to)
  const why = fault ?? urlFault(url, ranges, outgoing)
  if (why === undefined) return
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
