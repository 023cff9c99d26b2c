import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { signatureHeader, signatureRefused, signer } from '../../../shared/signature.ts'
import { readTls, type TlsFiles } from '../../../shared/tls/files.ts'
import type { Probe, UpstreamSettings } from '../../front/config/config.ts'
import { TargetMeter } from '../../front/counts/meters.ts'
import { Target } from '../../front/forwarding/target.ts'
import { originOf } from '../../front/forwarding/target-url.ts'

/** The most bytes of a body that are compared. */
export const mostBytes = 65_536

/** The answer of a target, or why there is none. */
export type Reply = Readonly<Awaited<ReturnType<typeof replyOf>>>

/**
 * A target beside those of an upstream, with the upstream's times and certificates. It counts in no metric, and has the headers
 * of `forward.headers` only if the upstream names its address.
 */
export function targetBeside(url: string, upstream: UpstreamSettings): Target {
  const { timeouts, health, tls, targets, swap } = upstream
  const own = [...targets, ...(swap?.to ?? [])].map((target) => originOf(target.url))
  return new Target({
    settings: { url, weight: 1 },
    timeouts,
    health,
    tls: tls && { certificates: readAtEach(tls), name: tls.name },
    headers: own.includes(originOf(url)) ? upstream.headers : undefined,
    meter: new TargetMeter(),
    changed: () => undefined,
    suspected: () => undefined,
  })
}

/** Files that are read for each connection: few are made. A fault in them is why a connection fails. */
function readAtEach(files: TlsFiles) {
  return {
    get texts() {
      return readTls(files)
    },
  }
}

/** Sends a request to a target, signed if there is a secret. It never rejects. */
export async function replyOf(
  target: Target,
  { method, target: path }: Pick<Probe, 'method' | 'target'>,
  { secret, timeoutMs }: Readonly<{ secret: string | undefined; timeoutMs: number }>,
) {
  const own = ['x-request-id', randomUUID(), 'x-caller-id', 'probe', 'x-caller-plan', 'probe']
  const headers = [
    ...Object.entries(target.headers ?? {}).flat(),
    ...own,
    ...(secret ? signer(secret)({ method, target: path, fields: own }, Date.now()) : []),
  ]
  const started = performance.now()
  const took = (): number => Math.round(performance.now() - started)
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await target.pool.request({ method, path, headers, signal })
    const content = await readBody(answer.body).catch(() => 'broken' as const)
    signal.throwIfAborted()
    if (content === 'broken') throw new Error('the answer broke off')
    /** `undefined` if it is too long to be compared, or encoded in a way that can't be undone. */
    const body = content && (await textOf(content, answer.headers['content-encoding']))
    const type = String(answer.headers['content-type'] ?? 'none')
    /** Whether the backend refused the request for its signature. */
    const wantsSignature = answer.headers[signatureHeader] === signatureRefused
    return { status: answer.statusCode, type, body, milliseconds: took(), wantsSignature }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const milliseconds = took()
    return { status: 0, type: 'none', body: '', milliseconds, wantsSignature: false, error: why }
  }
}

/** Reads a body to its end; `undefined` if it is too long: the rest is left, and its connection closed. */
async function readBody(body: AsyncIterable<Buffer>): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > mostBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const limit = { maxOutputLength: mostBytes }
const decoders: Readonly<Record<string, (body: Buffer) => Buffer | Promise<Buffer>>> = {
  identity: (body) => body,
  gzip: (body) => promisify(gunzip)(body, limit),
  'x-gzip': (body) => promisify(gunzip)(body, limit),
  deflate: (body) => promisify(inflate)(body, limit),
  br: (body) => promisify(brotliDecompress)(body, limit),
}

async function textOf(
  body: Buffer,
  encoding: string | string[] = 'identity',
): Promise<string | undefined> {
  try {
    const name = String(encoding).trim().toLowerCase() || 'identity'
    return (await decoders[name]?.(body))?.toString()
  } catch {
    return undefined
  }
}
