import { digestOf } from '../../shared/content-digest.ts'
import { signer } from '../../shared/signature.ts'

/** The headers of a request as a gateway with the secret sends it for a caller. */
export function signedHeaders(
  secret: string,
  { method, target, body }: Readonly<{ method: string; target: string; body?: string | undefined }>,
  nowMs = Date.now(),
): Record<string, string> {
  const fields = ['x-request-id', 'req1', 'x-caller-id', 'key1', 'x-caller-plan', 'pro']
  if (body !== undefined) fields.push('content-digest', digestOf(Buffer.from(body)))
  const all = [...fields, ...signer(secret)({ method, target, fields }, nowMs)]
  return Object.fromEntries(all.flatMap((name, i) => (i % 2 ? [] : [[name, all[i + 1] ?? '']])))
}
