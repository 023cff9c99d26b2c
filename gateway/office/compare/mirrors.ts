import type { Config } from '../../front/config/config.ts'
import type { OnlookerSlot } from '../../front/forwarding/onlooker.ts'
import { Mirror, type MirrorCounts } from './mirror.ts'

/** The most requests that all workers of a gateway have at the would-be backend at a time; each has at least one. */
const mostAtOnce = 10

/** A process that isn't asked for its counts for so long has lost the one that leads the comparison, and ends. */
const silenceMs = 5_000

/** An order to all workers of a gateway: what to compare, and whether it is over. Each one answers with its counts. */
export type MirrorCommand = Readonly<{
  comparison: string
  url: string
  upstream: string
  share: number
  isOver: boolean
}>

/** Why a process has ended a comparison by itself. */
export type EndedBy = 'failures' | 'reload'

/** Why a comparison has ended: its time is over, or one of the reasons before that. */
export type Ending = EndedBy | 'time' | 'left' | 'stop' | 'place'

/** The counts of one process, as it tells them. */
export type ProcessCounts = MirrorCounts &
  Readonly<{
    comparison: string
    /** The random id of its process, and the name of its gateway. */
    member: string
    name: string
    ended: EndedBy | undefined
  }>

type Running = Readonly<{ order: MirrorCommand; mirror: Mirror | undefined }> & { ended?: EndedBy }

export type MirrorsOptions = Readonly<{
  config: Config
  self: () => Readonly<{ id: string; name: string }>
  /** The place at which forwarded requests find the mirror, while it runs. */
  onlooker: OnlookerSlot
}>

/** The part of this process in comparisons: at most one mirror at a time. */
export class Mirrors {
  readonly #onlooker: OnlookerSlot
  readonly #self: MirrorsOptions['self']
  #config: Config
  #mirror: Mirror | undefined
  #running: Running | undefined
  #silence: NodeJS.Timeout | undefined

  constructor({ config, self, onlooker }: MirrorsOptions) {
    this.#onlooker = onlooker
    this.#config = config
    this.#self = self
  }

  /** Begins, goes on or ends as ordered; gives the counts. */
  apply(order: MirrorCommand): ProcessCounts {
    const running = this.#runningOf(order)
    clearTimeout(this.#silence)
    if (order.isOver) this.end()
    else this.#silence = setTimeout(() => this.end(), silenceMs).unref()
    const none = { routes: [], busy: 0, unfit: 0, failure: undefined }
    const { comparison } = order
    const { id: member, name } = this.#self()
    return { ...(running.mirror?.counts ?? none), comparison, member, name, ended: running.ended }
  }

  /** Goes by another configuration; a comparison ends, because its upstream may be another. */
  change(config: Config): void {
    this.#config = config
    if (this.#mirror && this.#running) this.#running.ended = 'reload'
    this.end()
  }

  end(): void {
    this.#mirror?.end()
    this.#set(undefined)
  }

  #set(mirror: Mirror | undefined): void {
    this.#mirror = mirror
    this.#onlooker.current = mirror
  }

  #runningOf(order: MirrorCommand): Running {
    if (this.#running?.order.comparison === order.comparison) return this.#running
    this.end()
    const { url, share } = order
    const upstream = this.#config.upstreams.get(order.upstream)
    if (!upstream || order.isOver) return (this.#running = { order, mirror: undefined })
    const room = Math.max(1, Math.floor(mostAtOnce / this.#config.workers))
    const mirror = new Mirror({
      url,
      upstream,
      share,
      room,
      failed: () => {
        running.ended = 'failures'
        this.#set(undefined)
      },
    })
    const running: Running = { order, mirror }
    this.#set(mirror)
    return (this.#running = running)
  }
}

/** The counts in an answer of another worker; none if it is of another version, or of another comparison. */
export function processCountsFrom(answer: unknown, comparison: string): ProcessCounts[] {
  if (typeof answer !== 'object' || answer === null) return []
  const counts = answer as ProcessCounts
  return counts.comparison === comparison && Array.isArray(counts.routes) ? [counts] : []
}

/** The order in a question of another worker; `undefined` if it is about something else. */
export function mirrorCommandFrom(about: unknown): MirrorCommand | undefined {
  if (typeof about !== 'object' || about === null) return undefined
  const order = about as MirrorCommand
  return typeof order.comparison === 'string' ? order : undefined
}
