import type { Path } from './mistake.ts'

/** The ends of names that mark secrets, as in `sentinelPassword` or `api_key`. */
const secretEnd =
  /(?:password|passwd|passphrase|pass|pwd|secret|token|credentials|(?:api|access|secret|private)key|auth|authorization|signature|sig)$/

/** Whether a setting, or a parameter of a URL's query, with this name holds a secret. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z]/g, '')
  return plain === 'key' || secretEnd.test(plain)
}

/** Whether a place of the file is that of headers for backends: none of their values is shown. */
export function isHidden([section, , part, setting]: Path): boolean {
  return section === 'upstreams' && part === 'forward' && setting === 'headers'
}

/** A value at a place of the file, without its secrets; those within it are left to `maskedJson`. */
export function maskedAt(path: Path, value: unknown): unknown {
  return isHidden(path) ? masked(String(value)) : maskedJson(String(path.at(-1)), value)
}

/** A text without the passwords of URLs in it: before an `@`, and in parameters of a query. */
export function withoutPasswords(text: string): string {
  return withoutSecretMembers(withoutUserInfo(text))
}

/**
 * A replacer for `JSON.stringify`: masks passwords in texts, whole values with secret names, and headers for backends, but not
 * the file's own `headers`, which stand beside `plans`. A `key` beside a `cert` names a file; only if somebody has written the
 * private key itself there, it is a secret.
 */
export function maskedJson(this: unknown, name: string, value: unknown): unknown {
  const holder = typeof this === 'object' && this !== null ? this : undefined
  if (name === 'headers' && holder && !('plans' in holder)) return hidden(value)
  if (name === 'key' && holder && 'cert' in holder && !/BEGIN|\n/.test(String(value))) return value
  if (typeof value === 'string') return isSecretName(name) ? masked(value) : withoutPasswords(value)
  return isSecretName(name) && typeof value === 'number' ? '…' : value
}

/** Whether a value was copied from masked output, so that its secret is lost. */
export function isMasked(path: Path, value: string): boolean {
  if (isHidden(path) || isSecretName(String(path.at(-1)))) return value === '…'
  if (/^(?:[^]*?\/\/|\s*rediss?:)…@/i.test(value)) return true
  const [, ...members] = value.split(/[?&]/)
  return members.some((member) => {
    const [name = '', ...rest] = member.split('=')
    return rest.join('=') === '…' && isSecretName(decoded(name))
  })
}

/** A secret becomes `…`; the name of a variable or of a file is shown, and an empty text too. */
function masked(value: string): string {
  return /^\$\{(?:\w+|file:[^}]*)\}$/.test(value) || value === '' ? value : '…'
}

/** Headers for backends with nothing of their values. */
function hidden(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return masked(String(value))
  }
  const shown = Object.entries(value).map(([name, each]) => [name, masked(String(each))] as const)
  return Object.fromEntries(shown)
}

/**
 * Removes everything up to the last `@`, because a password may contain an unescaped `@` or `/`. Only a text that is
 * certainly a web URL without a password stays as it is: `http://docs.example/@team`.
 */
function withoutUserInfo(text: string): string {
  const [, beginning] = /^([^]*?\/\/|\s*rediss?:)/i.exec(text) ?? []
  const at = text.lastIndexOf('@')
  if (beginning === undefined || at < beginning.length || isWithoutUser(text)) return text
  return `${beginning}…${text.slice(at)}`
}

function isWithoutUser(text: string): boolean {
  const isOne = /^https?:\/\/[^\s\\]*$/i.test(text) && text.indexOf('//') === text.lastIndexOf('//')
  if (!isOne || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

function withoutSecretMembers(text: string): string {
  const [before = '', ...rest] = text.split('?')
  if (rest.length === 0) return text
  const members = rest.join('?').split('&')
  const shown = members.map((member) => {
    const [name = '', ...value] = member.split('=')
    return value.length > 0 && isSecretName(decoded(name)) ? `${name}=…` : member
  })
  return `${before}?${shown.join('&')}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
