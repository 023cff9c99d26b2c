import { Ranges } from '../../../front/http/address.ts'
import {
  isInternalName,
  isThisMachine,
  unbracketed,
  whyInternal,
} from '../../../front/http/networks.ts'
import type { Path } from '../mistake.ts'
import { isRange, rangeRemarks } from './addresses.ts'
import { list, mistake, text, type Quote, type Remark } from './remarks.ts'

/** A URL that the gateway itself asks, and the addresses outside the internet that it may lead to. */
export type Outgoing = Readonly<{
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
