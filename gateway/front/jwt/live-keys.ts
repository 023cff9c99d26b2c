import type { Clock } from '../../../shared/clock.ts'
import { withCommas } from '../../../shared/commas.ts'
import { firstMessage } from '../../../shared/first-message.ts'
import { within } from '../../../shared/within.ts'
import { guardedClient } from '../http/guarded-lookup.ts'
import { fits, keysFrom, type LeftOut, type VerifyingKey } from './key-set.ts'
import type { KeysSource } from './settings.ts'

/** The time between two fetches, and after one that failed. */
const fetchEveryMs = 10 * 60_000
const againAfterMs = 30_000

/** The most time and bytes of a fetch. */
const mostMs = 5_000
const mostBytes = 2 ** 20

/** Fetches because of unknown ids: the most at once, the time after which there may be one more, and a request's wait for one. */
const mostAsked = 5
const askEveryMs = 10_000
const longestWaitMs = 1_000

export type LiveKeysOptions = Readonly<{
  source: KeysSource
  clock: Clock
  /** Called when fetches begin to fail, and with `undefined` when they succeed again. */
  trouble: (error: Error | undefined) => void
}>

/** How a key set stands, for operators. */
export type KeysState = Readonly<{
  /** The number of keys that verify; `undefined` as long as none has ever come. */
  keys: number | undefined
  leftOut: readonly LeftOut[]
  fetchedAtMs: number | undefined
  /** The time since then, or since the first try; `undefined` of a set in a file. */
  ageMs: number | undefined
  /** Why the last fetch failed. */
  failure: string | undefined
}>

/** The keys of an issuer as they are by now. What was fetched goes on to count while fetches fail. */
export class LiveKeys {
  readonly #options: LiveKeysOptions
  readonly #stop = new AbortController()
  readonly #begunAtMs: number
  #keys: readonly VerifyingKey[] | undefined
  #leftOut: readonly LeftOut[] = []
  #fetchedAtMs: number | undefined
  #failure: string | undefined
  #fetching: Promise<void> | undefined
  /** The time from which on the most fetches because of unknown ids are possible again. */
  #restedAtMs = -Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(options: LiveKeysOptions) {
    this.#options = options
    this.#begunAtMs = options.clock()
    const { source } = options
    if ('text' in source) this.take(source.text)
    else void this.fetch()
  }

  get state(): KeysState {
    const [keys, fetchedAtMs, failure] = [this.#keys?.length, this.#fetchedAtMs, this.#failure]
    const { source, clock } = this.#options
    const ageMs = 'text' in source ? undefined : clock() - (fetchedAtMs ?? this.#begunAtMs)
    return { keys, leftOut: this.#leftOut, fetchedAtMs, ageMs, failure }
  }

  /** Resolves when the first fetch is done, after a second at the latest. */
  async ready(): Promise<void> {
    if (!this.#keys && this.#fetching) await within(longestWaitMs, this.#fetching)
  }

  /**
   * The one key for a token; `undefined` if none or several are, and `never` as long as no set has come. An unknown id has
   * the set fetched, once in a while.
   */
  async find(
    kid: string | undefined,
    algorithm: string,
  ): Promise<VerifyingKey | 'never' | undefined> {
    const isFor = (key: VerifyingKey): boolean => fits(key, kid, algorithm)
    if (!this.#keys || (kid !== undefined && !this.#keys.some(isFor))) await this.#ask()
    if (!this.#keys) return 'never'
    const [first, ...others] = this.#keys.filter(isFor)
    return others.length === 0 ? first : undefined
  }

  /** Fetches the set. Never rejects. */
  fetch(): Promise<void> {
    const { source } = this.#options
    if ('text' in source) return Promise.resolve()
    this.#fetching ??= fetchKeys(source, this.#stop.signal)
      .then((text) => this.take(text))
      .then(
        () => this.#ended(undefined),
        (error: unknown) => this.#ended(error),
      )
    return this.#fetching
  }

  /** Keys that are in the new set as well stay, and what they have verified; all others count no more. */
  take(text: string): void {
    const keyByText = new Map(this.#keys?.map((key) => [key.text, key]))
    const set = keysFrom(text)
    const keys = set.keys.map((key) => keyByText.get(key.text) ?? key)
    for (const key of keyByText.values()) key.isInForce = keys.includes(key)
    this.#keys = keys
    this.#leftOut = set.leftOut
    this.#fetchedAtMs = this.#options.clock()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#stop.abort()
  }

  async #ask(): Promise<void> {
    if (!this.#fetching && ('text' in this.#options.source || !this.#takeTurn())) return
    await within(longestWaitMs, this.fetch())
  }

  /** Takes one of the fetches that are possible now, if there is one: invented ids must not keep a new key unknown for long. */
  #takeTurn(): boolean {
    const nowMs = this.#options.clock()
    const latestMs = nowMs + mostAsked * askEveryMs
    // A clock that was turned back doesn't keep keys unknown.
    const restedAtMs = Math.min(Math.max(this.#restedAtMs, nowMs), latestMs)
    const isTurn = restedAtMs + askEveryMs <= latestMs
    this.#restedAtMs = isTurn ? restedAtMs + askEveryMs : restedAtMs
    return isTurn
  }

  #ended(error: unknown): void {
    this.#fetching = undefined
    if (this.#stop.signal.aborted) return
    const wasFailing = this.#failure !== undefined
    this.#failure = error === undefined ? undefined : firstMessage(error)
    if (this.#failure !== undefined && !wasFailing) {
      this.#options.trouble(new Error(this.#failure, { cause: error }))
    } else if (wasFailing && error === undefined) this.#options.trouble(undefined)
    clearTimeout(this.#timer)
    const afterMs = error === undefined ? fetchEveryMs : againAfterMs
    this.#timer = setTimeout(() => void this.fetch(), afterMs).unref()
  }
}

/** Fetches the text of a key set. Redirects are failures: they would lead past the check of the address. */
async function fetchKeys(
  { url, allow }: Extract<KeysSource, { url: string }>,
  stopped: AbortSignal,
): Promise<string> {
  const rules = { allow, isPlain: new URL(url).protocol === 'http:' }
  const late = AbortSignal.timeout(mostMs)
  const { client, path } = guardedClient(url, rules, mostMs)
  try {
    const { statusCode, body } = await client.request({
      method: 'GET',
      path,
      headers: { accept: 'application/jwk-set+json, application/json', 'user-agent': 'tollgate' },
      signal: AbortSignal.any([stopped, late]),
    })
    if (statusCode !== 200) throw new Error(`it answered ${statusCode}`)
    return await textOf(body)
  } catch (error) {
    throw late.aborted ? new Error(`no answer within ${mostMs / 1_000} s`) : error
  } finally {
    client.destroy().catch(() => undefined)
  }
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > mostBytes) throw new Error(`it has over ${withCommas(mostBytes)} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
