import { hash, randomFillSync } from 'node:crypto'
import { crc32 } from 'node:zlib'

// Operators manage keys; callers send tokens: tg_<id>_<secret><check>.

/** The characters of ids and secrets. */
export const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** The number of characters of an id. */
export const idLength = 12
const secretLength = 32
const checkLength = 6
const tokenLength = 3 + idLength + 1 + secretLength + checkLength

const prefix = 'tg_'
const shape = /^tg_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}$/

/** A new key's id. */
export function newKeyId(): string {
  return randomText(idLength)
}

/** A new token for a key. It is shown once and never stored. */
export function newToken(id: string): string {
  const start = `${prefix}${id}_${randomText(secretLength)}`
  return start + checkOf(start)
}

/** Whether a token has the form of ours. Imported tokens of other systems may have any other. */
export function isOurs(token: string): boolean {
  return token.startsWith(prefix)
}

/** Whether a token of ours is well formed. Its check gives mistyped and most invented ones away. */
export function isWellFormed(token: string): boolean {
  // Last, because the expression costs more than the check and seldom fails.
  return (
    token.length === tokenLength &&
    token.endsWith(checkOf(token.slice(0, -checkLength))) &&
    shape.test(token)
  )
}

/** Whether a token is as long as ours are. */
export function isWhole(token: string): boolean {
  return token.length === tokenLength
}

/** The id in a well-formed token of ours. */
export function keyIdOf(token: string): string {
  return token.slice(prefix.length, prefix.length + idLength)
}

/** The hash of a token that stores have: its SHA-256 in base64url. */
export function hashOf(token: string): string {
  return hash('sha256', token, 'base64url')
}

/** Longer tokens are known in memory by their hashes: those that others issue may have thousands of characters. */
const longestInMemory = 128

/** The mark before a hash. No token has it. */
const hashMark = '#'

/** The text by which memory knows a token: the token, or the hash of a long one. The name of a name is itself. */
export function tokenName(token: string): string {
  return token.length <= longestInMemory ? token : hashMark + hashOf(token)
}

/** The hash of a token, from its name. */
export function hashOfName(name: string): string {
  return name.startsWith(hashMark) ? name.slice(1) : hashOf(name)
}

function checkOf(text: string): string {
  let rest = crc32(text)
  let check = ''
  for (let i = 0; i < checkLength; i++) {
    check = alphabet.charAt(rest % 62) + check
    rest = Math.floor(rest / 62)
  }
  return check
}

/** Random bytes, many at a time: to ask for those of one id takes longer than all else of it. */
const random = new Uint8Array(4_096)
let used = random.length

/** A random byte that nobody has had; it is wiped out. */
function randomByte(): number {
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  const byte = random[used] ?? 0
  random[used++] = 0
  return byte
}

/** Random letters and digits, all equally likely: bytes from 248 (4 × 62) on are skipped. */
function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    const byte = randomByte()
    if (byte < 248) text += alphabet.charAt(byte % 62)
  }
  return text
}
