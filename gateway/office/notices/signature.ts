import { createHmac } from 'node:crypto'

const marked = 'whsec_'
const base64 = /^[A-Za-z0-9+/]+={0,2}$/
/** Shorter secrets could be guessed. */
const leastBytes = 16
/** The lengths that Standard Webhooks asks for. */
const [shortestBytes, mostBytes] = [24, 64]

/** The secrets of a text: one, or two with a comma between them. */
export function secretsIn(text: string): readonly string[] {
  return text.split(',').map((each) => each.trim())
}

/** Whether a text is one or two secrets of a fit length, each written `whsec_` and base64, or as it is. */
export function areSecrets(text: string): boolean {
  const secrets = secretsIn(text)
  return secrets.length <= 2 && secrets.every(isSecret)
}

/** Whether one of the secrets is shorter than receivers expect. */
export function areShort(text: string): boolean {
  return secretsIn(text).some((secret) => bytesOf(secret).length < shortestBytes)
}

/** The signatures of a notice, one by each secret, as Standard Webhooks writes them. */
export function signaturesOf(
  secrets: readonly string[],
  { id, seconds, body }: Readonly<{ id: string; seconds: number; body: string }>,
): string {
  const signed = `${id}.${seconds}.${body}`
  return secrets
    .map((secret) => `v1,${createHmac('sha256', bytesOf(secret)).update(signed).digest('base64')}`)
    .join(' ')
}

function bytesOf(secret: string): Buffer {
  if (!secret.startsWith(marked)) return Buffer.from(secret)
  return Buffer.from(secret.slice(marked.length), 'base64')
}

function isSecret(text: string): boolean {
  const { length } = bytesOf(text)
  const isWritten = !text.startsWith(marked) || base64.test(text.slice(marked.length))
  return isWritten && length >= leastBytes && length <= mostBytes
}
