/** The ends of names of what is secret: `password`, `sentinelPassword`, `api_key`. */
const secretEnds = [
  ...['password', 'passwd', 'passphrase', 'pass', 'pwd', 'secret', 'token', 'credentials'],
  ...['apikey', 'accesskey', 'secretkey', 'privatekey', 'auth', 'authorization'],
  ...['signature', 'sig'],
]

/** Whether what has this name is nobody's business: a setting, or a member of a query. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z]/g, '')
  return plain === 'key' || secretEnds.some((end) => plain.endsWith(end))
}

/** A text without the passwords of URLs in it: before an `@`, and in members of a query. */
export function withoutPasswords(text: string): string {
  return withoutSecretMembers(withoutUserInfo(text))
}

/** The same of a value and all that is in it, as it becomes JSON; what has a secret name is left out as a whole. */
export function maskedJson(name: string, value: unknown): unknown {
  if (typeof value === 'string') return isSecretName(name) ? masked(value) : withoutPasswords(value)
  return isSecretName(name) && typeof value === 'number' ? '…' : value
}

/** Whether a value is one that was shown without its secret, so that the secret is lost. */
export function isMasked(name: string, value: string): boolean {
  if (isSecretName(name)) return value === '…'
  if (/^(?:[^]*?\/\/|\s*rediss?:)…@/i.test(value)) return true
  const [, ...members] = value.split(/[?&]/)
  return members.some((member) => {
    const [name = '', ...rest] = member.split('=')
    return rest.join('=') === '…' && isSecretName(decoded(name))
  })
}

/** A secret that stands in a file is not shown; the name of a variable is what one wants to read. */
function masked(value: string): string {
  return /^\$\{\w+\}$/.test(value) || value === '' ? value : '…'
}

/**
 * Passwords hold `@` and `/` where somebody forgot to escape them, so everything up to the last `@` goes.
 * Only what is beyond doubt a URL of the web without a password is left alone: `http://docs.example/@team`.
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
