import { isSame } from '../../../shared/is-same.ts'
import { isLine } from '../../front/keys/settings.ts'
import { roles, type Role } from '../../../shared/role.ts'

/** An operator: its name for the audit, its role, and the time at which both end, if they do. */
export type Operator = Readonly<{ name: string; role: Role; endsAtMs?: number }>

/** The tokens of operators. */
export type AdminTokens = readonly Readonly<Operator & { token: string }>[]

/** The secrets of a gateway, as they are at present. */
export type AdminSecrets = Readonly<{
  /** The tokens of operators; without any, the admin API is closed. */
  tokens: AdminTokens
  /** The secret of the gateway's signature, if it signs. */
  secret?: string | undefined
}>

/** The least length of a token: 16 random characters can't be guessed. */
const shortestToken = 16

/** A fault of an ADMIN_TOKEN. Its message is for operators who start a gateway; `fault` is without their advice. */
export class AdminTokenFault extends Error {
  readonly fault: string

  constructor(fault: string) {
    super(`${fault}. Write TOKEN, or alice:TOKEN,bob/read:TOKEN; openssl rand -hex 32 makes one`)
    this.fault = fault
  }
}

/**
 * The tokens of an ADMIN_TOKEN: one, or several between commas, each with a name before a colon, and perhaps a role
 * behind the name: `eve/read:TOKEN`. Throws an `AdminTokenFault` if one of them is too short or malformed; its message never quotes
 * a token.
 */
export function adminTokensFrom(setting = ''): AdminTokens {
  if (setting.trim() === '') return []
  const parts = setting.split(',').map((part) => part.trim())
  return parts.map((part, i) => {
    const [first = '', second, ...more] = part.split(':')
    const named =
      second === undefined
        ? { name: 'admin', role: 'all' as const, token: first }
        : { ...operatorFrom(first), token: second }
    const why = more.length > 0 ? 'has more than one colon' : faultOf(named, first)
    if (why === undefined) return named
    const which = parts.length > 1 ? `part ${i + 1} of ADMIN_TOKEN` : 'ADMIN_TOKEN'
    throw new AdminTokenFault(`${which} ${why}`)
  })
}

/** An operator from what stands before the colon. What follows the last slash of a name is its role. */
function operatorFrom(text: string): Operator {
  const slash = text.lastIndexOf('/')
  const role = roles.find((each) => each === text.slice(slash + 1))
  return slash < 0 || !role ? { name: text, role: 'all' } : { name: text.slice(0, slash), role }
}

function faultOf({ name, token }: AdminTokens[number], written: string): string | undefined {
  const [, last] = /\/([^/]*)$/.exec(written) ?? []
  if (last !== undefined && !roles.some((role) => role === last)) {
    return `names the role "${last}", which doesn't exist: roles are ${roles.join(', ')}`
  }
  if (token === '') return 'has no token in it'
  if (/\s/.test(token)) return 'has a space in its token'
  if (token.length < shortestToken) {
    return `has a token of ${token.length} characters, where at least ${shortestToken} are needed`
  }
  return isLine(name) ? undefined : 'has no readable name before its colon'
}

/** The place of a token in `ADMIN_TOKEN`. It takes the same time whatever the token is. */
export function placeOf(secret: string, tokens: AdminTokens): number | undefined {
  const [index] = tokens.flatMap(({ token }, i) => (isSame(secret, token) ? [i] : []))
  return index
}

/** The holder of the token in an `Authorization` header. */
export function holderOf(header: string | undefined, tokens: AdminTokens): Operator | undefined {
  const [, secret = ''] = /^Bearer (\S+)$/i.exec(header ?? '') ?? []
  const holder = tokens[placeOf(secret, tokens) ?? -1]
  return holder && { name: holder.name, role: holder.role }
}
