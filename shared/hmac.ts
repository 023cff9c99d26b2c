import { hash } from 'node:crypto'

/** A code for a text that only who knows the secret can make: HMAC-SHA-256 in hexadecimal. */
export type Hmac = (text: string) => string

const blockLength = 64
const hashLength = 32

/**
 * Put together from two plain hashes, as RFC 2104 has it. Node's `createHmac` leaves objects behind that only
 * a full collection frees: a signed request cost 5.5 µs more with it (1.4 µs by itself, beside 0.9).
 */
export function hmacBy(secret: string): Hmac {
  const key = keyOf(secret)
  const outer = Buffer.concat([key.map((byte) => byte ^ 0x5c), Buffer.alloc(hashLength)])
  const innerKey = key.map((byte) => byte ^ 0x36)
  return (text) => {
    const inner = Buffer.concat([innerKey, Buffer.from(text)])
    outer.write(hash('sha256', inner, 'binary'), blockLength, 'binary')
    return hash('sha256', outer, 'hex')
  }
}

/** A secret as one block; one that is longer is known by its hash. */
function keyOf(secret: string): Buffer {
  const bytes = Buffer.from(secret)
  const fitting = bytes.length > blockLength ? hash('sha256', bytes, 'buffer') : bytes
  return Buffer.concat([fitting, Buffer.alloc(blockLength - fitting.length)])
}
