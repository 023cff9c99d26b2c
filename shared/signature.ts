import { hash } from 'node:crypto'
import { memberOf } from './dictionary.ts'
import { hmacBy, type Hmac } from './hmac.ts'
import { isSame } from './is-same.ts'

/** The most seconds between a signature's time and the checker's clock. */
const toleranceSeconds = 60

/** A request that is signed: it came through the gateway, for this caller. */
export type Signed = Readonly<{
  method: string
  /** Path and query, byte for byte as the backend gets them. */
  target: string
  /** The fields that are covered, names in small letters and values in turn, in their order. */
  fields: readonly string[]
}>

/** A request as a backend has got it; the headers as Node gives them. */
export type Received = Readonly<{
  method: string
  target: string
  headers: Readonly<Record<string, string | readonly string[] | undefined>>
}>

/** The name of the gateway's signature among those of a request, and its tag. */
export const signatureLabel = 'tollgate'

/** The header of a backend's answer that rejects the signature, and its value. */
export const signatureHeader = 'x-gateway-signature'
export const signatureRefused = 'refused'

/** The fields about the caller, which have a place of their own in a signature. */
const always = ['x-request-id', 'x-caller-id', 'x-caller-plan']

/** The parts of each request's target, which are covered first. */
const targetParts = ['@method', '@path', '@query']
const ofTarget = targetParts.map((name) => `"${name}"`).join(' ')

/**
 * Signs a request at a time by RFC 9421: `Signature-Input` and `Signature`, names and values in turn, each with one member.
 */
export type Sign = (request: Signed, nowMs: number) => string[]

/** The fault of a request's signature as a sentence; else the names of the fields that it covers. */
export type SignatureCheck = (request: Received, nowMs: number) => string | readonly string[]

/** A secret, or a function that gives the present one. */
export type SecretSource = string | undefined | (() => string | undefined)

export function presentSecret(source: SecretSource): string | undefined {
  return typeof source === 'function' ? source() : source
}

/** A shorter secret can be guessed from one signature. */
const shortSecret = 16

/** The fault of a GATEWAY_SECRET as a sentence for operators; `undefined` if it is usable. */
export function secretFault(secrets: string | undefined): string | undefined {
  if (!secrets || secrets.split(',').every((secret) => secret.trim() !== '')) return undefined
  // Anybody can sign with the empty secret.
  return 'GATEWAY_SECRET has an empty part: write one secret, or NEW,OLD while it is being changed (is a variable in it not set?)'
}

/** A warning about a weak GATEWAY_SECRET, which doesn't quote it. */
export function secretWarning(secrets: string | undefined): string | undefined {
  if (!secrets || secrets.split(',').every((secret) => secret.trim().length >= shortSecret))
    return undefined
  return `GATEWAY_SECRET has fewer than ${shortSecret} characters, which can be guessed; openssl rand -hex 32 makes a good one`
}

/**
 * Makes a signer. Of two secrets, separated by a comma, the first one signs, so that a secret can be changed on one side
 * at a time. Throws the fault of an unusable secret.
 */
export function signer(secrets: string): Sign {
  const [secret = ''] = secretsFrom(secrets)
  const hmac = hmacBy(secret)
  const keyId = hash('sha256', secret, 'hex').slice(0, 12)
  return (request, nowMs) => {
    let covered = ofTarget
    for (let i = 0; i < request.fields.length; i += 2) covered += ` "${request.fields[i]}"`
    const created = Math.floor(nowMs / 1_000)
    const how = `created=${created};keyid="${keyId}";alg="hmac-sha256";tag="${signatureLabel}"`
    const input = `(${covered});${how}`
    const signature = hmac(baseOf(request, input), 'base64')
    return [
      ...['signature-input', `${signatureLabel}=${input}`],
      ...['signature', `${signatureLabel}=:${signature}:`],
    ]
  }
}

const inputForm = new RegExp(
  `^\\(("[^"]+"(?: "[^"]+")*)\\);created=(\\d{1,12});keyid="[0-9a-f]{12}";alg="hmac-sha256";tag="${signatureLabel}"$`,
)

/**
 * Makes a check of signatures. Of two secrets, separated by a comma, both are accepted. Throws the fault of an unusable
 * secret. Refuses also a header about the caller that nobody has signed, and a signature that leaves out what is always there.
 */
export function signatureChecker(secrets: string): SignatureCheck {
  const hmacs: readonly Hmac[] = secretsFrom(secrets).map((secret) => hmacBy(secret))
  return ({ method, target, headers }, nowMs) => {
    const fieldOf = (name: string): string | undefined => {
      const value = headers[name]
      return typeof value === 'string' ? value : undefined
    }
    const input = memberOf(fieldOf('signature-input') ?? '', signatureLabel)
    const given = memberOf(fieldOf('signature') ?? '', signatureLabel)
    if (input === undefined || given === undefined)
      return 'The signature of the gateway is missing.'
    const [, list = '', created] = inputForm.exec(input) ?? []
    const names = list.split(' ').map((name) => name.slice(1, -1))
    const [fields, needed] = [names.slice(3), [...targetParts, ...always]]
    const isWhole = needed.every((name, i) => names[i] === name)
    const isOnce = new Set(names).size === names.length
    const values = fields.flatMap((name) => [name, fieldOf(name) ?? ''])
    const areThere = fields.every((name) => fieldOf(name) !== undefined)
    if (!isWhole || !isOnce || !areThere) return 'The signature of the gateway is malformed.'
    const isBytes = /^[\0-\xff]*$/.test(target + values.join(''))
    const text = baseOf({ method, target, fields: values }, input)
    if (!isBytes || !hmacs.some((hmac) => isSame(given, `:${hmac(text, 'base64')}:`)))
      return 'The signature of the gateway is wrong.'
    const added = Object.keys(headers).find(
      (name) => isAboutCaller(name) && !fields.includes(name) && headers[name] !== '',
    )
    if (added !== undefined) return `The signature of the gateway doesn’t cover ${added}.`
    const age = Math.abs(nowMs / 1_000 - Number(created))
    // Of a clock that tells no number, nothing is fresh.
    return age <= toleranceSeconds ? fields : 'The signature of the gateway is out of date.'
  }
}

/** Some servers take all of `_`, `.` and `-` for the same. */
export function isAboutCaller(name: string): boolean {
  return /^x[^a-z0-9]caller(?:[^a-z0-9]|$)/.test(name)
}

/** The text that is signed (RFC 9421, 2.5). Each of its characters is a byte, as Node reads headers. */
function baseOf({ method, target, fields }: Signed, input: string): Buffer {
  const end = target.indexOf('?')
  const [path, query] = end < 0 ? [target, '?'] : [target.slice(0, end), target.slice(end)]
  let text = `"@method": ${method}\n"@path": ${path}\n"@query": ${query}\n`
  for (let i = 0; i + 1 < fields.length; i += 2) text += `"${fields[i]}": ${fields[i + 1]}\n`
  return Buffer.from(`${text}"@signature-params": ${input}`, 'latin1')
}

function secretsFrom(secrets: string): string[] {
  const fault = secretFault(secrets)
  if (fault) throw new Error(fault)
  return secrets.split(',')
}
