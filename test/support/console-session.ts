import type { startAdmin } from './admin.ts'
import { json, type Answer, type Call } from './http.ts'

/** The token of an operator who may do everything. */
export const aliceToken = 'canary-token-of-alice-0123456789'

/** The token of an operator with the role support. */
export const bobToken = 'canary-token-of-bob-9876543210'

/** ADMIN_TOKEN with both. */
export const tokens = `alice:${aliceToken},bob/support:${bobToken}`

/** The header that browsers send with requests of a page at the same origin. */
export const own = { 'sec-fetch-site': 'same-origin' }

/** Headers that a browser sends. */
export type Headers = Record<string, string>

/** The cookie that an answer sets, as the browser sends it back. */
export function cookieIn({ headers }: Answer): string {
  return String(headers['set-cookie']).split(';', 1)[0] ?? ''
}

/** Signs in like the page does; `headers` are what its requests then send. */
export async function signIn(operate: Call, token = aliceToken, more: Headers = {}) {
  const answer = await operate('POST', '/console/session', { token }, { ...own, ...more })
  if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.text}`)
  const { secret } = json(answer) as { secret: string }
  const cookie = cookieIn(answer)
  const headers: Headers = { ...own, ...more, cookie, 'x-console-secret': secret }
  return { answer, cookie, secret, headers }
}

/** The same headers without some. */
export function without(headers: Headers, ...names: string[]): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))
}

/** Lines of the audit about the console, the oldest first. */
export async function consoleLines({ gateway }: Awaited<ReturnType<typeof startAdmin>>) {
  const lines = await gateway.stores.audit.list({ fromMs: 0, limit: 1_000, subject: 'console' })
  return lines.toReversed()
}
