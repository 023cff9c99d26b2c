import type { IncomingHttpHeaders } from 'node:http'
import {
  digestHeader,
  digestOf,
  digestVerdict,
  hasKnownHash,
} from '../../../shared/content-digest.ts'
import { othersOf } from './caller-signatures.ts'
import type { CallerBody } from './caller-body.ts'
import type { OnItsWay } from './ending.ts'
import { dropHeader } from './withheld-headers.ts'

type Body = CallerBody | Buffer | undefined

/**
 * Adds the gateway's own headers to those for the backend, signed. Of the caller's the signature covers `Content-Digest`
 * alone.
 */
export function pushSigned(
  headers: string[],
  own: string[],
  claims: readonly string[] | undefined,
  { forwarding, request }: OnItsWay,
  { target, body }: Readonly<{ target: string; body: Body }>,
): void {
  const { sign, clock, signatureWithheld } = forwarding
  const { headers: given } = request.raw
  // Most requests have neither.
  if (given[digestHeader] !== undefined || body !== undefined) {
    const digest = digestFor(given, body)
    dropHeader(headers, digestHeader)
    if (digest !== undefined) own.push(digestHeader, digest)
  }
  if (given['signature'] !== undefined || given['signature-input'] !== undefined)
    withholdOurs(headers, given, signatureWithheld)
  if (claims) own.push(...claims)
  headers.push(...own)
  if (sign) headers.push(...sign({ method: request.method, target, fields: own }, clock()))
}

/** Whether a caller's own `Content-Digest` is about another body than this one, as far as it can be told. */
export function hasWrongDigest(given: IncomingHttpHeaders, body: Body): boolean {
  const field = fieldOf(given, digestHeader)
  return field !== '' && Buffer.isBuffer(body) && digestVerdict(field, body) === 'wrong'
}

/** The caller's `Content-Digest`, and ours of a whole body of which it says nothing. */
function digestFor(given: IncomingHttpHeaders, body: Body): string | undefined {
  const field = fieldOf(given, digestHeader)
  const isOpen = Buffer.isBuffer(body) && !hasKnownHash(field)
  const all = [field, ...(isOpen ? [digestOf(body)] : [])].filter((each) => each !== '')
  return all.length === 0 ? undefined : all.join(', ')
}

/** Leaves out of a caller's own signatures what could be taken for ours. */
function withholdOurs(headers: string[], given: IncomingHttpHeaders, withheld: () => void): void {
  const [input, signature] = [fieldOf(given, 'signature-input'), fieldOf(given, 'signature')]
  const others = othersOf({ input, signature })
  if (others.input !== input || others.signature !== signature) withheld()
  for (const [name, field, left] of [
    ['signature-input', input, others.input],
    ['signature', signature, others.signature],
  ] as const) {
    // An empty line before ours would make both together a list that can't be read.
    if (left === field && left !== '') continue
    dropHeader(headers, name)
    if (left !== '') headers.push(name, left)
  }
}

/** A field as one text, without spaces at its ends; empty without it. */
function fieldOf(given: IncomingHttpHeaders, name: string): string {
  const value = given[name]
  return typeof value === 'string' ? value.trim() : ''
}
