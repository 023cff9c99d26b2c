import { hkdfSync, randomBytes } from 'node:crypto'
import type { Clock } from '../../../shared/clock.ts'
import { hmacBy, type Hmac } from '../../../shared/hmac.ts'
import { isSame } from '../../../shared/is-same.ts'
import { onceFor } from '../../../shared/once-for.ts'
import type { AdminTokens, Operator } from './token.ts'

/** A session of the console: its operator, its end, and the time of its latest request, known to the minute. */
export type Session = Readonly<Operator & { id: string; endsAtMs: number; seenAtMs: number }>

/** A session with its two halves: a cookie for the browser, and a secret for the page. */
export type Begun = Readonly<{ session: Session; cookie: string; secret: string }>

/** How long a session lasts at most. */
const longestMs = 12 * 3_600_000

/** How long it lasts without a request. */
const idleMs = 3_600_000

/** The time after which the cookie is renewed. */
const renewAfterMs = 60_000

type Holder = Readonly<Operator & { signatureOf: Hmac; secretOf: Hmac }>

/**
 * Makes and recognises sessions. Nothing of them is kept: both halves are made with keys drawn from the operator's
 * token, so every gateway with this token accepts them, also after a restart, and none without it does.
 */
export class Sessions {
  readonly #tokens: () => AdminTokens
  readonly #clock: Clock

  constructor(tokens: () => AdminTokens, clock: Clock) {
    this.#clock = clock
    this.#tokens = tokens
  }

  /** Begins a session of the token at a place in `ADMIN_TOKEN`. */
  begin(tokenIndex: number): Begun {
    const holder = holdersOf(this.#tokens())[tokenIndex]
    if (!holder) throw new Error('there is no such token')
    const { name, role } = holder
    const seenAtMs = this.#clock()
    const id = randomBytes(12).toString('base64url')
    const session = { name, role, id, endsAtMs: seenAtMs + longestMs, seenAtMs }
    return { session, cookie: cookieOf(session, holder), secret: holder.secretOf(boundOf(session)) }
  }

  /**
   * The session that one of these cookies and the secret prove together, and its new cookie, if it is time for one.
   * `undefined` if they don't, if it has ended, or if its operator has another role now.
   */
  find(
    cookies: readonly string[],
    secret: string,
  ): Readonly<{ session: Session; cookie?: string }> | undefined {
    const nowMs = this.#clock()
    for (const cookie of cookies) {
      for (const holder of holdersOf(this.#tokens())) {
        const session = sessionIn(cookie, holder)
        if (!session || !isSame(secret, holder.secretOf(boundOf(session)))) continue
        const quietMs = nowMs - session.seenAtMs
        if (nowMs >= session.endsAtMs || quietMs >= idleMs) continue
        if (quietMs < renewAfterMs) return { session }
        const seen = { ...session, seenAtMs: nowMs }
        return { session: seen, cookie: cookieOf(seen, holder) }
      }
    }
    return undefined
  }
}

/** The holders of tokens: their keys take a while to draw. */
const holdersOf = onceFor((tokens: AdminTokens): readonly Holder[] =>
  tokens.map(({ name, role, token }) => ({
    name,
    role,
    signatureOf: keyedBy(token, 'cookie'),
    secretOf: keyedBy(token, 'secret'),
  })),
)

/** Signs with a key for one purpose, drawn from a token. */
function keyedBy(token: string, purpose: 'cookie' | 'secret'): Hmac {
  const key = hkdfSync('sha256', token, '', `tollgate console ${purpose}`, 32)
  return hmacBy(Buffer.from(key).toString('hex'))
}

/** The part of a session that its secret is bound to: it stays when the cookie is renewed. */
function boundOf({ name, role, id, endsAtMs }: Session): string {
  return JSON.stringify([name, role, id, endsAtMs])
}

function cookieOf(session: Session, { signatureOf }: Holder): string {
  const { name, role, id, endsAtMs, seenAtMs } = session
  const content = Buffer.from(JSON.stringify([name, role, id, endsAtMs, seenAtMs]))
  const text = content.toString('base64url')
  return `${text}.${signatureOf(text)}`
}

/** The session in a cookie, if the holder's token has signed it, and the holder has still its name and role. */
function sessionIn(cookie: string, { name, role, signatureOf }: Holder): Session | undefined {
  const [text = '', signature = ''] = cookie.split('.', 2)
  if (!isSame(signature, signatureOf(text))) return undefined
  // Only this class has signed it, so its form is known.
  const content = JSON.parse(Buffer.from(text, 'base64url').toString()) as Signed
  const [signedName, signedRole, id, endsAtMs, seenAtMs] = content
  if (signedName !== name || signedRole !== role) return undefined
  return { name, role, id, endsAtMs, seenAtMs }
}

type Signed = readonly [name: string, role: string, id: string, endsAtMs: number, seenAtMs: number]

/** A session as its page is told of it. Whom a proxy names has none, and no end. */
export function sessionView({ name, role, endsAtMs }: Operator) {
  return { name, role, endsAt: endsAtMs === undefined ? null : new Date(endsAtMs).toISOString() }
}

export type SessionView = ReturnType<typeof sessionView>
