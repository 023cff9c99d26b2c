import type { IncomingMessage } from 'node:http'
import { withCommas } from '../../../shared/commas.ts'
import { Refusal, type RefusalCode } from '../../../shared/refusal.ts'
import { usualMethods } from './methods.ts'

/** The most headers of a request, and the most characters of its target and of its Connection. */
const mostHeaders = 100
const longestTarget = 8_192
const longestConnection = 1_024

const hostPattern = /^(?:[\w~-]+(?:\.[\w~-]+)*\.?|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/**
 * Finds faults in a request's framing that Node lets through. A request that two readers could take for different
 * ones is refused, and its connection closed.
 */
export function framingFault(request: IncomingMessage): Refusal | undefined {
  const { rawHeaders, headers, httpVersion, method, url = '' } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return fault('http_version_not_supported')
  if (rawHeaders.length > 2 * mostHeaders) return fault('headers_too_large')
  if (url.length > longestTarget) return fault('uri_too_long')
  // All headers that it names are left out, and each name takes its time.
  if ((headers.connection?.length ?? 0) > longestConnection) return fault('headers_too_large')
  const encoding = headers['transfer-encoding']
  if (encoding !== undefined) {
    if (httpVersion === '1.0') return fault('invalid_request', framings.oldChunks)
    if (encoding !== 'chunked') return fault('not_implemented')
    if (headers['content-length'] !== undefined)
      return fault('invalid_request', framings.twoLengths)
  }
  if (method === 'TRACE') {
    return fault('method_not_allowed', framings.trace, {
      allow: usualMethods.join(', '),
    })
  }
  const { host } = headers
  if (host === undefined) {
    if (httpVersion !== '1.0') return fault('invalid_request', framings.hostless)
  } else if (!hostPattern.test(host) || isTwice('host', rawHeaders)) {
    return fault('invalid_request', framings.host)
  }
  return undefined
}

const framings = {
  hostless: 'The request has no Host header.',
  host: 'The request must have one Host header, with a name or an address.',
  oldChunks: 'HTTP/1.0 doesn’t allow Transfer-Encoding.',
  twoLengths: 'The request has both Content-Length and Transfer-Encoding.',
  trace: 'TRACE isn’t supported.',
} as const

const sentences: Partial<Record<RefusalCode, string>> = {
  http_version_not_supported: 'Use HTTP/1.1.',
  headers_too_large: `A request may have at most ${mostHeaders} headers, 16 KiB in all.`,
  uri_too_long: `Path and query may have at most ${withCommas(longestTarget)} characters.`,
  not_implemented: 'The only supported Transfer-Encoding is chunked.',
}

function fault(
  code: RefusalCode,
  sentence = sentences[code] ?? '',
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  return new Refusal(code, sentence, { ...headers, connection: 'close' })
}

/** Whether a header occurs more than once. For some headers Node shows only the first. */
function isTwice(name: string, rawHeaders: readonly string[]): boolean {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i]
    if (header?.length === name.length && header.toLowerCase() === name) count++
  }
  return count > 1
}
