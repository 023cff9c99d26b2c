import { withCommas } from '../../../shared/commas.ts'
import { lookup } from 'node:dns'
import { isIP } from 'node:net'
import { Client } from 'undici'
import { guarded, requireAllowed } from '../http/guarded-lookup.ts'
import { isThisMachine, unbracketed } from '../http/networks.ts'

const mostMs = 5_000
const mostBytes = 2 ** 20

/** The place of a key set, and the private addresses that it may lead to. */
export type KeysAddress = Readonly<{ url: string; allow: readonly string[] }>

/** Fetches the text of a key set. Redirects are failures: they would lead past the check of the address. */
export async function fetchKeys(
  { url, allow }: KeysAddress,
  stopped: AbortSignal,
): Promise<string> {
  const { origin, protocol, hostname, pathname, search } = new URL(url)
  const host = unbracketed(hostname)
  const isOwn = isThisMachine(hostname)
  const rules = { allow, isPlain: protocol === 'http:' }
  if (isIP(host) !== 0 && !isOwn) requireAllowed([host], host, rules)
  const late = AbortSignal.timeout(mostMs)
  const client = new Client(origin, {
    allowH2: false,
    connect: { timeout: mostMs, ...(isOwn ? {} : { lookup: guarded(lookup, rules) }) },
  })
  try {
    const { statusCode, body } = await client.request({
      method: 'GET',
      path: pathname + search,
      headers: { accept: 'application/jwk-set+json, application/json', 'user-agent': 'tollgate' },
      signal: AbortSignal.any([stopped, late]),
    })
    if (statusCode !== 200) throw new Error(`it answered ${statusCode}`)
    return await textOf(body)
  } catch (error) {
    throw late.aborted ? new Error(`no answer within ${mostMs / 1_000} s`) : error
  } finally {
    client.destroy().catch(() => undefined)
  }
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > mostBytes) throw new Error(`it has over ${withCommas(mostBytes)} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
