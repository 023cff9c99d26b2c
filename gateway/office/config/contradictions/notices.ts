import { Ranges } from '../../../front/http/address.ts'
import { isInternalName, isThisMachine, unbracketed, whyInternal } from '../../notices/networks.ts'
import { areSecrets, areShort } from '../../notices/signature.ts'
import { isMasked } from '../mask.ts'
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

/** Notices go to the internet encrypted, to this machine, or where their entry allows it; and nowhere twice. */
export function* noticeRemarks(file: Section, quote: Quote): Generator<Remark> {
  const seen = new Map<string, number>()
  for (const [i, entry] of list(file['notices']).entries()) {
    const { to: written, secret, allow } = section(entry)
    const at: Path = ['notices', i]
    const ranges: string[] = []
    for (const [j, range] of list(allow).entries()) {
      const fault = rangeFault(range)
      if (fault !== undefined) {
        const path = [...at, 'allow', j]
        yield mistake(path, `${fault}, got "${quote(path)}"`)
      } else if (typeof range === 'string') ranges.push(range)
    }
    const secrets = text(secret)
    const isTold = secrets === undefined || isMasked('secret', secrets)
    if (!isTold && !areSecrets(secrets)) yield mistake([...at, 'secret'], expected)
    else if (!isTold && areShort(secrets)) yield warning([...at, 'secret'], short)
    const to = text(written)
    if (to === undefined || !URL.canParse(to)) continue
    const url = new URL(to)
    const earlier = seen.get(url.href)
    const why = earlier === undefined ? urlFault(url, ranges) : `is that of notices[${earlier}]`
    seen.set(url.href, earlier ?? i)
    if (why === undefined) continue
    // The value of a variable is never shown, so nothing made of it is.
    const isShown = !quote([...at, 'to']).includes('${')
    yield mistake(
      [...at, 'to'],
      isShown ? why : why.replaceAll(unbracketed(url.hostname), 'ADDRESS'),
    )
  }
}

const expected =
  'must be one or two keys with a comma between them, each of 16 to 64 bytes, or whsec_ and as many in base64'
const short =
  'has fewer than 24 bytes, the least that Standard Webhooks asks for: make a longer one'

function rangeFault(range: unknown): string | undefined {
  try {
    if (typeof range === 'string') new Ranges([range])
    return undefined
  } catch {
    return 'must be an address or a range such as 10.0.0.0/8 or 2001:db8::/32'
  }
}

function urlFault(url: URL, ranges: readonly string[]): string | undefined {
  const host = unbracketed(url.hostname)
  if (url.username !== '' || url.password !== '') return 'must have no user name and no password'
  if (isThisMachine(url.hostname)) return undefined
  if (url.protocol === 'http:') return 'must be https: only this machine is told by plain http'
  const what = whyInternal(host)
  if (what === undefined && isInternalName(host) && ranges.length === 0 && !host.includes(':')) {
    return `is ${host}, a name of an internal network: notices go there only if its addresses are in allow, such as allow: [10.0.0.0/8]`
  }
  if (what === undefined || new Ranges(ranges).has(host)) return undefined
  return `is ${host}, an address ${what}: notices go there only if it is in allow, such as allow: [${host}]`
}
