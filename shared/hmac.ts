import { createHmac } from 'node:crypto'

/** The HMAC-SHA-256 of a text in hexadecimal, which proves knowledge of the secret. */
export type Hmac = (text: string) => string

export function hmacBy(secret: string): Hmac {
  return (text) => createHmac('sha256', secret).update(text).digest('hex')
}
