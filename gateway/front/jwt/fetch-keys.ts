import { withCommas } from '../../../shared/commas.ts'
import { guardedClient } from '../http/guarded-lookup.ts'

const mostMs = 5_000
const mostBytes = 2 ** 20

/** The place of a key set, and the private addresses that it may lead to. */
export type KeysAddress = Readonly<{ url: string; allow: readonly string[] }>

/** Fetches the text of a key set. Redirects are failures: they would lead past the check of the address. */
export async function fetchKeys(
  { url, allow }: KeysAddress,
  stopped: AbortSignal,
): Promise<string> {
  const rules = { allow, isPlain: new URL(url).protocol === 'http:' }
  const late = AbortSignal.timeout(mostMs)
  const { client, path } = guardedClient(url, rules, mostMs)
  try {
    const { statusCode, body } = await client.request({
      method: 'GET',
      path,
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
