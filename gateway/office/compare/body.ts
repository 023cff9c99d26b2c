import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'

/** The most bytes of a body that are compared. */
export const mostBytes = 65_536

/** A whole body; `long` if it has more than `mostBytes`, `broken` if it broke off. */
export type KeptBody = Buffer | 'long' | 'broken'

const none = Buffer.alloc(0)

/**
 * Watches the body of an answer on its way to its caller. Returns the function that gives what has passed, once all has.
 * Nothing is copied, and nothing flows earlier or later than without it: it looks on only while the body flows already.
 */
export function watched(body: Buffer | Readable | undefined): () => KeptBody {
  if (!(body instanceof Readable)) return () => within(body ?? none)
  let chunks: Buffer[] = []
  let length = 0
  const note = (chunk: Buffer): void => {
    length += chunk.length
    if (length <= mostBytes) chunks.push(chunk)
    else chunks = []
  }
  body.once('resume', () => body.on('data', note))
  return () => (length > mostBytes ? 'long' : Buffer.concat(chunks))
}

/** Reads a body to its end, or until it is too long; the rest is left, and its connection closed. */
export async function readBody(body: Buffer | Readable | undefined): Promise<KeptBody> {
  if (!(body instanceof Readable)) return within(body ?? none)
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > mostBytes) return 'long'
      chunks.push(chunk)
    }
  } catch {
    return 'broken'
  }
  return Buffer.concat(chunks)
}

function within(body: Buffer): KeptBody {
  return body.length > mostBytes ? 'long' : body
}

const limit = { maxOutputLength: mostBytes }
const decoders: Readonly<Record<string, (body: Buffer) => Promise<Buffer>>> = {
  identity: (body) => Promise.resolve(body),
  gzip: (body) => promisify(gunzip)(body, limit),
  'x-gzip': (body) => promisify(gunzip)(body, limit),
  deflate: (body) => promisify(inflate)(body, limit),
  br: (body) => promisify(brotliDecompress)(body, limit),
}

/** The text of a body; `undefined` if it is too long, broke off, or is encoded in a way that can't be undone. */
export async function textOf(body: KeptBody, encoding: string): Promise<string | undefined> {
  const decode = decoders[encoding.trim().toLowerCase() || 'identity']
  if (typeof body === 'string' || !decode) return undefined
  try {
    return (await decode(body)).toString()
  } catch {
    return undefined
  }
}
