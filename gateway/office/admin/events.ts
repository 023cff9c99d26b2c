import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import type { Clock } from '../../../shared/clock.ts'
import { Refusal } from '../../../shared/refusal.ts'
import type { Watcher } from '../operations/operation.ts'

/** The type of server-sent events. */
const eventType = 'text/event-stream'

/** The most streams of events that are open at a time. */
export const mostStreams = 20

/** The time after which the stream of a client that reads nothing is cut. */
const stalledMs = 30_000

export type EventStreamsOptions = Readonly<{
  isStopping: () => boolean
  clock: Clock
}>

/** The open streams of events of the admin address. */
export class EventStreams {
  readonly #open = new Set<EventStream>()
  readonly #options: EventStreamsOptions

  constructor(app: FastifyInstance, options: EventStreamsOptions) {
    this.#options = options
    app.addHook('preClose', (done) => {
      for (const stream of this.#open) stream.end()
      done()
    })
  }

  /** Whether a request wants events instead of one answer. */
  isWanted({ headers }: FastifyRequest): boolean {
    return headers.accept?.startsWith(eventType) ?? false
  }

  /** Answers with the events of a watcher, until the client goes, its operator's time ends, or the gateway stops. */
  answer(
    { method, admin }: FastifyRequest,
    reply: FastifyReply,
    watch: (heard: () => void) => Watcher,
  ): FastifyReply {
    const { isStopping, clock } = this.#options
    if (this.#open.size >= mostStreams || isStopping()) {
      const why = isStopping() ? 'The gateway stops.' : `${mostStreams} others watch already.`
      throw new Refusal('service_unavailable', `${why} Try again later.`, { 'retry-after': '5' })
    }
    const endsAtMs = admin?.endsAtMs ?? Infinity
    const isOver = (): boolean => isStopping() || clock() >= endsAtMs
    void reply.header('cache-control', 'no-store').type(eventType)
    if (method === 'HEAD') return reply.send('')
    const stream: EventStream = new EventStream(
      watch(() => stream.heard()),
      isOver,
    )
    this.#open.add(stream)
    stream.once('close', () => this.#open.delete(stream))
    // The client has gone meanwhile.
    if (reply.raw.destroyed) stream.destroy()
    return reply.send(stream)
  }
}

/**
 * The events of one watcher as text. An event is made when the one before has left for the socket: a client that reads
 * slowly gets fewer events, with everything that has changed since the last one, and fills no memory.
 */
class EventStream extends Readable {
  readonly #watcher: Watcher
  readonly #isOver: () => boolean
  #isWanted = false
  #isEnded = false
  #wantedAtMs = performance.now()

  constructor(watcher: Watcher, isOver: () => boolean) {
    super({ highWaterMark: 1 })
    this.#isOver = isOver
    this.#watcher = watcher
    // The headers leave with it, before the first figures are there.
    this.push(': an event a second\n\n')
  }

  override _read(): void {
    this.#isWanted = true
    this.#wantedAtMs = performance.now()
    this.#send()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#watcher.end()
    done(error)
  }

  /** Ends the stream; at once, if its client doesn't read. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    if (this.#isWanted) this.push(null)
    else this.destroy()
  }

  /** There is something to take, or the gateway stops. */
  heard(): void {
    if (this.#isOver()) return this.end()
    if (this.#isWanted) this.#send()
    else if (performance.now() - this.#wantedAtMs > stalledMs) this.destroy()
  }

  #send(): void {
    const event = this.#isEnded ? undefined : this.#watcher.take()
    if (!event) return
    this.#isWanted = false
    this.push(`event: ${event.name}\ndata: ${JSON.stringify(event.snapshot)}\n\n`)
  }
}
