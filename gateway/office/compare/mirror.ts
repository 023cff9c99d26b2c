import { randomUUID } from 'node:crypto'
import { loggable } from '../../../shared/log.ts'
import { Refusal } from '../../../shared/refusal.ts'
import type { Route, UpstreamSettings } from '../../front/config/config.ts'
import { asOne, headersForCaller } from '../../front/forwarding/headers.ts'
import { locationFor } from '../../front/forwarding/location.ts'
import type { Target } from '../../front/forwarding/target.ts'
import { targetBeside } from './target-beside.ts'
import { watched, type KeptBody } from './body.ts'
import { differences, type SeenAnswer } from './differences.ts'
import type { Exchange, Headers, Onlooker } from '../../front/forwarding/onlooker.ts'
import { askOnce, type MirroredAnswer, type WholeAnswer } from './mirrored-request.ts'
import { RouteTally, type RouteCounts } from './route-counts.ts'

/** The most requests whose callers still get their answers; each may hold 64 KiB of a body. */
const mostFollowed = 100

/** The failed requests in a row after which it ends. */
export const mostFailures = 20

/** Conditions depend on the version that a caller has of the present backend's answer. */
const conditions = /^if-(?:none-match|modified-since|match|unmodified-since|range)$/i

export type MirrorOptions = Readonly<{
  url: string
  upstream: UpstreamSettings
  /** The part of the requests that is compared, up to 1. */
  share: number
  /** The most requests that are at the would-be backend at a time. */
  room: number
  /** Called when it ends by itself. */
  failed: () => void
}>

/** The counts of one process. */
export type MirrorCounts = Readonly<{
  routes: readonly RouteCounts[]
  /** Requests of the sample that could not be compared: too many at a time; or unfit answers, and faults. */
  busy: number
  unfit: number
  /** The last failure, if it ended by failures. */
  failure: string | undefined
}>

/**
 * Asks a would-be backend what callers have asked, each time after the caller has its answer, and counts what is
 * different. It keeps no body longer than the comparison of it takes.
 */
export class Mirror implements Onlooker {
  readonly upstream: string
  readonly #options: MirrorOptions
  readonly #target: Target
  readonly #origins: readonly string[]
  readonly #tallies = new Map<string, RouteTally>()
  #followed = 0
  #underWay = 0
  #busy = 0
  #unfit = 0
  #failures = 0
  #failure: string | undefined
  #isOver = false

  constructor(options: MirrorOptions) {
    const { url, upstream } = options
    this.#options = options
    this.upstream = upstream.name
    this.#target = targetBeside(url, upstream)
    this.#origins = [this.#target.webOrigin]
  }

  get counts(): MirrorCounts {
    const routes = [...this.#tallies].map(([route, tally]) => tally.counts(route))
    return { routes, busy: this.#busy, unfit: this.#unfit, failure: this.#failure }
  }

  draws(upstream: string, method: string): boolean {
    return (
      upstream === this.upstream &&
      (method === 'GET' || method === 'HEAD') &&
      Math.random() < this.#options.share
    )
  }

  /** Asks the would-be backend the same, once the answer has ended. */
  follow(exchange: Exchange): void {
    const { status, headers, body, response, hasCookies } = exchange
    if (hasCookies || !isComparable(status, headers)) return void this.#unfit++
    if (this.#followed >= mostFollowed) return void this.#busy++
    this.#followed++
    const seen = watched(body)
    response.once('close', () => {
      this.#followed--
      // The caller has left, or another comparison may have begun.
      if (this.#isOver || !response.writableFinished) return
      if (this.#underWay >= this.#options.room) return void this.#busy++
      this.#underWay++
      void this.#compare(exchange, seen())
        .catch(() => this.#unfit++)
        .finally(() => this.#underWay--)
    })
  }

  /** Ends it, with all requests that are under way. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    void this.#target.pool.destroy()
  }

  async #compare(exchange: Exchange, body: KeptBody): Promise<void> {
    const { upstream } = this.#options
    const { method, target, host, callerId, requestId, headersFor, status, route, ms } = exchange
    const mirrored = randomUUID()
    const answer = await askOnce(
      this.#target,
      {
        method,
        target,
        host,
        callerId,
        body: undefined,
        upgrade: false,
        headers: [...unconditional(headersFor(mirrored)), 'x-gateway-mirror', '1'],
        sentAtMs: performance.now(),
      },
      upstream.timeouts,
    )
    const breaks =
      'failure' in answer
        ? [answer.failure]
        : await this.#breaks({ status, headers: exchange.headers, body }, answer, exchange)
    if (this.#isOver) return
    // A query may hold what nobody else should read.
    const path = loggable(target.split('?', 1)[0] ?? '')
    const example = { request: requestId, method, path, mirrored }
    this.#tallyOf(route).add(breaks, example, ms, answer.ms)
    this.#judge(answer)
  }

  /** Ends after too many failures in a row: no answer, or the answer of a backend that fails. */
  #judge(answer: MirroredAnswer): void {
    const failure =
      'failure' in answer
        ? (this.#target.lastFailure?.cause ?? answer.failure)
        : answer.status >= 500
          ? `it answered ${answer.status}`
          : undefined
    this.#failures = failure === undefined ? 0 : this.#failures + 1
    if (this.#failures < mostFailures) return
    this.#failure = failure
    this.end()
    this.#options.failed()
  }

  /** The differences to the would-be backend's answer as a caller would see it. */
  async #breaks(
    before: SeenAnswer,
    answer: WholeAnswer,
    { route, host }: Exchange,
  ): Promise<string[]> {
    const headers = headersForCaller(answer.headers, answer.status)
    if (headers instanceof Refusal)
      return [`callers would get ${headers.status}: ${headers.message}`]
    const { location } = headers
    if (typeof location === 'string') {
      headers['location'] = locationFor(location, route, this.#origins, host)
    }
    return differences(before, { ...answer, headers })
  }

  #tallyOf({ path }: Route): RouteTally {
    const tally = this.#tallies.get(path) ?? new RouteTally()
    this.#tallies.set(path, tally)
    return tally
  }
}

/**
 * Whether an answer of the present backend can be compared: not one that depends on what the caller has, not one of a
 * backend that fails, not one without an end.
 */
function isComparable(status: number, headers: Headers): boolean {
  if (status === 304 || status === 412 || status >= 500) return false
  return !asOne(headers['content-type'])?.startsWith('text/event-stream')
}

/** Headers, names and values in turn, without the caller's conditions. */
function unconditional(headers: readonly string[]): string[] {
  return headers.filter((_each, i) => !conditions.test(headers[i - (i % 2)] ?? ''))
}
