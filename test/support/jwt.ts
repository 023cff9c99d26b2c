import {
  constants,
  createHmac,
  generateKeyPairSync,
  sign,
  type KeyObject,
  type SignKeyObjectInput,
} from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

// Tokens are made by hand, of Node's own signatures: the gateway's package has no part in it.

export const issuerName = 'https://login.example/'
export const audience = 'https://api.example'

export type SigningKey = Readonly<{ kid: string; alg: string; privateKey: KeyObject; jwk: object }>

const edwards: readonly string[] = ['EdDSA', 'Ed25519']
const curves: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

/** A pair of keys for an algorithm. */
export function signingKey(alg: string, kid = `${alg}-1`, modulusLength = 2_048): SigningKey {
  const curve = curves[alg]
  const { privateKey, publicKey } = curve
    ? generateKeyPairSync('ec', { namedCurve: curve })
    : edwards.includes(alg)
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('rsa', { modulusLength })
  return { kid, alg, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' } }
}

export function part(value: object | string): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return Buffer.from(text).toString('base64url')
}

/** The signature of a text by a key. */
export function signatureOf(
  text: string,
  { alg, privateKey }: Pick<SigningKey, 'alg' | 'privateKey'>,
): string {
  const bytes = Buffer.from(text)
  if (edwards.includes(alg)) return sign(null, bytes, privateKey).toString('base64url')
  const how: SignKeyObjectInput = { key: privateKey }
  if (alg.startsWith('ES')) how.dsaEncoding = 'ieee-p1363'
  if (alg.startsWith('PS')) {
    how.padding = constants.RSA_PKCS1_PSS_PADDING
    how.saltLength = constants.RSA_PSS_SALTLEN_DIGEST
  }
  return sign(`sha${alg.slice(2)}`, bytes, how).toString('base64url')
}

export type Given = Readonly<{
  /** Members of the header and of the claims beside the usual ones; `undefined` leaves a usual one out. */
  header?: object
  claims?: object
  /** Texts in place of the two objects. */
  headerText?: string
  claimsText?: string
}>

/** The claims that every token has, an hour long. */
export function usualClaims(nowMs = Date.now()): Record<string, unknown> {
  const now = Math.floor(nowMs / 1_000)
  return { iss: issuerName, aud: audience, sub: 'alice', iat: now, exp: now + 3_600 }
}

/** A token that a key has signed. */
export function tokenOf(key: SigningKey, given: Given = {}): string {
  const { header, claims, headerText, claimsText } = given
  const first = part(headerText ?? { alg: key.alg, kid: key.kid, ...header })
  const second = part(claimsText ?? { ...usualClaims(), ...claims })
  return `${first}.${second}.${signatureOf(`${first}.${second}`, key)}`
}

/** A token whose signature is a HMAC by the public key's text: what a verifier that asks the token for its algorithm takes. */
export function tokenByPublicKey(secret: string, header: object): string {
  const text = `${part({ alg: 'HS256', ...header })}.${part(usualClaims())}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

export const bearer = (token: string): { authorization: string } => ({
  authorization: `Bearer ${token}`,
})

export type KeyServer = Readonly<{
  url: string
  /** The keys that it serves; a test may change them, or what it answers. */
  set: { keys: readonly object[]; answer?: ((response: ServerResponse) => void) | undefined }
  /** The number of requests. */
  asked: () => number
  close: () => void
}>

/** A server of a key set. */
export async function startKeyServer(t: Test, keys: readonly SigningKey[]): Promise<KeyServer> {
  const set: KeyServer['set'] = { keys: keys.map(({ jwk }) => jwk) }
  let asked = 0
  const server = createServer((_request, response) => {
    asked++
    if (set.answer) return set.answer(response)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: set.keys }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): void => {
    server.close()
    server.closeAllConnections()
  }
  t.teardown(close)
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/jwks.json`, set, asked: () => asked, close }
}

/** The `jwt` section of a configuration with one issuer. */
export function jwtSection(keys: string, more = 'plan: free', issuer = issuerName): string {
  return `jwt: [ { issuer: "${issuer}", audience: "${audience}", keys: "${keys}", ${more} } ]`
}
