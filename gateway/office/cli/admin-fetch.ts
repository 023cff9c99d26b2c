import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { checkServerIdentity, getCACertificates } from 'node:tls'
import type { AdminAddress } from '../../front/config/config.ts'

/** The part of `fetch` that asks an address. */
export type Fetch = (
  url: string,
  options: Readonly<{ method: string; headers: Record<string, string>; body?: string }> &
    Readonly<{ signal?: AbortSignal }>,
) => Promise<Pick<Response, 'ok' | 'status' | 'text'> & { body: AsyncIterable<Uint8Array> | null }>

/**
 * The function that asks the admin address. With TLS, the address's own certificate is trusted beside those of the system,
 * by whatever name it is asked: commands ask the host that it listens on, for which there may be no certificate.
 */
export async function fetchFor({ tls }: Pick<AdminAddress, 'tls'>): Promise<Fetch> {
  if (!tls) return fetch
  const { Agent, fetch: fetchBy } = await import('undici')
  const text = readFileSync(tls.cert, 'utf8')
  const own = new X509Certificate(text)
  const dispatcher = new Agent({
    allowH2: false,
    connect: {
      ca: [...getCACertificates('default'), text],
      // Also without the one that has signed it.
      allowPartialTrustChain: true,
      checkServerIdentity: (host, shown) =>
        shown.raw.equals(own.raw) ? undefined : checkServerIdentity(host, shown),
    },
  })
  return (url, options) => fetchBy(url, { ...options, dispatcher })
}

/** Why TLS has failed, in OpenSSL's words; `undefined` for an error that isn't of TLS. */
export function tlsFailure(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error)) return undefined
  const code = 'code' in cause ? String(cause.code) : ''
  const isOfCertificate = /CERT|ISSUER|SELF_SIGNED|CHAIN/.test(code)
  if (isOfCertificate) return cause.message
  return /^(?:EPROTO|ERR_SSL_|ERR_TLS_)/.test(code) ? 'it doesn’t speak TLS there' : undefined
}
