import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { secondsOf } from '../../../shared/retry-after.ts'
import { WrongInput } from '../wrong-input.ts'
import { toldIn, type Answer } from './told.ts'

export type AskerOptions = Readonly<{
  url: string
  headers: Readonly<Record<string, string>>
  limit: number
  windowMs: number
  connections: number
  forMs: number
  mostRequests: number
}>

/** The time or the requests that were agreed to aren't enough for what comes next. */
export class OutOfTime extends Error {}

/** Asks a gateway, within what was agreed to. */
export class Asker {
  readonly answers: Answer[] = []
  readonly #options: AskerOptions
  readonly #endMs: number
  readonly #pool: Pool
  #sent = 0

  constructor(options: AskerOptions) {
    const { origin } = new URL(options.url)
    this.#options = options
    this.#endMs = performance.now() + options.forMs
    const { connections, forMs } = options
    const timeouts = { headersTimeout: forMs, bodyTimeout: forMs }
    this.#pool = new Pool(origin, { connections, pipelining: 1, ...timeouts })
  }

  /** Waits until a time of this machine's clock. */
  async until(atMs: number): Promise<void> {
    if (atMs > this.#endMs) throw new OutOfTime()
    // A timer may come a little early.
    for (let leftMs; (leftMs = atMs - performance.now()) > 0;) await sleep(Math.ceil(leftMs))
  }

  /** Throws a `WrongInput` unless the answer is let in or refused by a limit. */
  async ask(): Promise<Answer> {
    const { url, limit, windowMs, mostRequests } = this.#options
    const sentMs = performance.now()
    if (sentMs > this.#endMs || ++this.#sent > mostRequests) throw new OutOfTime()
    const { status, headers, text, answeredMs } = await this.#exchange().catch(
      ({ message, code }: NodeJS.ErrnoException) => {
        throw new WrongInput(`${url} can’t be reached: ${message || code}`)
      },
    )
    const isAdmitted = status < 400
    if (!isAdmitted) requireLimited(url, status, text)
    const seconds = secondsOf(headers['retry-after'], Date.parse(String(headers.date)))
    const waitMs = seconds === undefined ? undefined : seconds * 1_000
    // Rounded up, none of this window's is longer.
    if ((waitMs ?? 0) > windowMs + 1_000)
      throw new WrongInput(`${url} refuses for ${seconds} s: a longer limit is used up`)
    const told = toldIn(headers, limit)
    const answer: Answer = { sentMs, answeredMs, isAdmitted, told, waitMs }
    this.answers.push(answer)
    return answer
  }

  async #exchange() {
    const { url, headers: sent } = this.#options
    const { pathname, search } = new URL(url)
    const about = { path: pathname + search, method: 'GET', headers: sent } as const
    const { statusCode: status, headers, body } = await this.#pool.request(about)
    const answeredMs = performance.now()
    const text = status < 400 ? String(await body.dump()) : await body.text()
    return { status, headers, text, answeredMs }
  }

  /** Sends requests at once, over all connections. */
  burst(count: number): Promise<Answer[]> {
    return Promise.all(Array.from({ length: count }, () => this.ask()))
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }
}

/** Refusals that aren't by a window: what is to be done about each. */
const others = {
  key_banned: 'the key is banned, which is neither let in nor a refusal by a limit',
  too_many_at_once: 'that many under way are refused, by a guess: take fewer --connections',
}

function requireLimited(url: string, status: number, body: string): void {
  const [code, why] = Object.entries(others).find(([code]) => body.includes(`"${code}"`)) ?? []
  if (status === 429 && !code) return
  const said = `${url} answers ${status}`
  if (status === 429) throw new WrongInput(`${said} ${code}: ${why}`)
  throw new WrongInput(`${said}, which is neither let in nor 429: ${body.slice(0, 200)}`)
}
