import { areSecrets, areShort } from '../../notices/signature.ts'
import { isMasked } from '../mask.ts'
import type { Path } from '../mistake.ts'
import { outgoingRemarks } from './addresses.ts'
import { mistake, warning, type Checked, type Remark } from './remarks.ts'

/** Notices go to the internet encrypted, to this machine, or where their entry allows it; and nowhere twice. */
export function* noticeRemarks({ file, quote }: Checked): Generator<Remark> {
  const seen = new Map<string, number>()
  for (const [i, { to: url, secret, allow } = {}] of (file.notices ?? []).entries()) {
    const at: Path = ['notices', i]
    const isTold = secret === undefined || isMasked(['secret'], secret)
    if (!isTold && !areSecrets(secret)) yield mistake([...at, 'secret'], expected)
    else if (!isTold && areShort(secret)) yield warning([...at, 'secret'], short)
    const href = URL.parse(url ?? '')?.href
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
