import { areSecrets, areShort } from '../../notices/signature.ts'
import { isMasked } from '../mask.ts'
import type { Path } from '../mistake.ts'
import { outgoingRemarks } from './addresses.ts'
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
    const { to: url, secret, allow } = section(entry)
    const at: Path = ['notices', i]
    const secrets = text(secret)
    const isTold = secrets === undefined || isMasked(['secret'], secrets)
    if (!isTold && !areSecrets(secrets)) yield mistake([...at, 'secret'], expected)
    else if (!isTold && areShort(secrets)) yield warning([...at, 'secret'], short)
    const href = URL.parse(text(url) ?? '')?.href
    const earlier = href === undefined ? undefined : seen.get(href)
    if (href !== undefined) seen.set(href, earlier ?? i)
    const outgoing = {
      at: [...at, 'to'],
      url,
      allow,
      fault: earlier === undefined ? undefined : `is that of notices[${earlier}]`,
      what: 'notices go there',
      plainly: 'only this machine is told',
    }
    yield* outgoingRemarks(outgoing, quote)
  }
}

const expected =
  'must be one or two keys with a comma between them, each of 16 to 64 bytes, or whsec_ and as many in base64'
const short =
  'has fewer than 24 bytes, the least that Standard Webhooks asks for: make a longer one'
