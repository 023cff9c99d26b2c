import type { Clock } from '../../../shared/clock.ts'
import { readerOf, timeSchema, Type } from '../../../shared/schema.ts'
import type { Documents } from '../shelves/documents.ts'
import type { NewNotice } from './notice.ts'
import {
  forgottenMs,
  keptMs,
  leaseMs,
  queued,
  queuedFrom,
  type Outcome,
  type Queued,
} from './notice-store.ts'
import type { NoticeType } from './notice-types.ts'

/** The folder of what is known of queues, by address. */
const folder = 'notices'

/** The notices of a page: a folder each, so that the newest are read without the others. */
const pageSize = 500

/** The most pages that a queue is taken for having. */
const mostPages = 1_000

/** What is known of a queue beside its notices. */
const aboutFrom = readerOf(
  Type.Object({
    firstPage: Type.Integer(),
    lastPage: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    waiting: Type.Integer(),
    givenUp: Type.Integer(),
    dropped: Type.Integer(),
    /** The version of the address that has ended, and when. */
    ended: Type.Optional(Type.Object({ version: Type.String(), atMs: timeSchema })),
  }),
)

export type AboutQueue = NonNullable<ReturnType<typeof aboutFrom>>

/** A queue of which nothing is in the store. */
const noQueue: AboutQueue = { firstPage: 0, lastPage: 0, waiting: 0, givenUp: 0, dropped: 0 }

export type QueueOptions = Readonly<{
  documents: Documents
  clock: Clock
  /** The address. */
  id: string
  /** The most notices that are kept. */
  most: number
}>

/** The place of a notice; one without a time to be tried was given up. */
type Item = Readonly<{ page: number; addedAtMs: number }> & { dueMs: number | undefined }

/** The queue of an address in the process that sends: its notices are documents, and in memory are their places. */
export class NoticeQueue {
  readonly #options: QueueOptions
  /** By the ids of the notices, the oldest first. */
  readonly #items = new Map<string, Item>()
  #about = noQueue
  #isChanged = false
  /** The notices of the last page. */
  #inLast = 0
  #latestAtMs = 0
  /** No notice is due before. */
  #dueMs = 0

  private constructor(options: QueueOptions) {
    this.#options = options
  }

  static async opened(options: QueueOptions): Promise<NoticeQueue> {
    const queue = new NoticeQueue(options)
    await queue.#read()
    return queue
  }

  isEnded(version: string): boolean {
    return this.#about.ended?.version === version
  }

  /** Adds a notice, unless it is there; resolves to the types of older ones that had to go. */
  async add(notice: NewNotice): Promise<readonly NoticeType[]> {
    if (this.#items.has(notice.id)) return []
    if (this.#inLast >= pageSize) {
      this.#inLast = 0
      this.#about.lastPage++
      await this.#save()
    }
    // Their order, also within a millisecond.
    const addedAtMs = Math.max(this.#options.clock(), this.#latestAtMs + 1)
    const item = { page: this.#about.lastPage, addedAtMs, dueMs: 0 }
    await this.#put(item, queued(notice))
    this.#note(notice.id, item)
    this.#dueMs = 0
    return this.#dropOldest()
  }

  async due(version: string, limit: number): Promise<readonly Queued[]> {
    if (this.isEnded(version)) await this.#read()
    const nowMs = this.#options.clock()
    if (this.isEnded(version) || nowMs < this.#dueMs) return []
    const due: string[] = []
    this.#dueMs = Infinity
    for (const [id, item] of this.#items) {
      if (item.addedAtMs + keptMs <= nowMs) this.#remove(id)
      else if (item.dueMs !== undefined) {
        if (item.dueMs <= nowMs && due.length < limit) {
          due.push(id)
          item.dueMs = nowMs + leaseMs
        }
        this.#dueMs = Math.min(this.#dueMs, item.dueMs)
      }
    }
    if (due.length === 0 && this.#isChanged) await this.#save()
    const found = await Promise.all(due.map((id) => this.#fetch('get', id)))
    return found.flat()
  }

  async settle(version: string, id: string, outcome: Outcome): Promise<void> {
    const item = this.#items.get(id)
    if (!item) return
    if (outcome === 'ended') return this.#end(version)
    if (outcome === 'delivered') return void (await this.#fetch('take', id))
    await this.#put(item, outcome)
    item.dueMs = dueMsOf(outcome)
    this.#dueMs = Math.min(this.#dueMs, item.dueMs ?? Infinity)
    this.#isChanged = true
  }

  /** Drops all. Their documents stay in pages that nobody reads, until they end. */
  #end(version: string): Promise<void> {
    const ended = { version, atMs: this.#options.clock() }
    this.#about.lastPage++
    this.#about.dropped += this.#waiting
    this.#about = { ...this.#about, ended }
    this.#items.clear()
    this.#inLast = 0
    return this.#save()
  }

  async #dropOldest(): Promise<readonly NoticeType[]> {
    const types: NoticeType[] = []
    while (this.#items.size > this.#options.most) {
      const [oldest = ''] = this.#items.keys()
      const isWaiting = this.#items.get(oldest)?.dueMs !== undefined
      const taken = await this.#fetch('take', oldest)
      if (!isWaiting) continue
      this.#about.dropped++
      types.push(...taken.map(({ type }) => type))
    }
    return types
  }

  async #read(): Promise<void> {
    const { documents, id } = this.#options
    this.#about = await aboutQueue(documents, id)
    this.#items.clear()
    // As far as there are any: a process that sent before may have written an older last page.
    for (let page = this.#about.firstPage; ; page++) {
      const found = await pageIn(documents, id, page)
      if (found.length === 0 && page > this.#about.lastPage) break
      this.#about.lastPage = Math.max(this.#about.lastPage, page)
      this.#inLast = 0
      for (const { addedAtMs, text } of found) {
        for (const notice of queuedFrom(text())) {
          this.#note(notice.id, { page, addedAtMs, dueMs: dueMsOf(notice) })
        }
      }
    }
    this.#dueMs = 0
    this.#isChanged = false
  }

  async #save(): Promise<void> {
    const { documents, id } = this.#options
    const [oldest] = this.#items.values()
    const waiting = this.#waiting
    const givenUp = this.#items.size - waiting
    const firstPage = oldest?.page ?? this.#about.lastPage
    this.#about = { ...this.#about, firstPage, waiting, givenUp }
    await documents.put(folder, id, JSON.stringify(this.#about), { keptMs: forgottenMs })
    this.#isChanged = false
  }

  get #waiting(): number {
    return [...this.#items.values()].filter(({ dueMs }) => dueMs !== undefined).length
  }

  #note(id: string, item: Item): void {
    this.#items.set(id, item)
    this.#inLast++
    this.#latestAtMs = item.addedAtMs
    this.#isChanged = true
  }

  #remove(id: string): void {
    if (this.#items.get(id)?.page === this.#about.lastPage) this.#inLast--
    this.#items.delete(id)
    this.#isChanged = true
  }

  #placeOf(id: string, item = this.#items.get(id)): readonly [folder: string, name: string] {
    return [pageOf(this.#options.id, item?.page ?? 0), `${item?.addedAtMs} ${id}`]
  }

  async #put(item: Item, notice: Queued): Promise<void> {
    const { documents, clock } = this.#options
    const options = { keptMs: Math.max(0, item.addedAtMs + keptMs - clock()) }
    await documents.put(...this.#placeOf(notice.id, item), JSON.stringify(notice), options)
  }

  async #fetch(act: 'get' | 'take', id: string): Promise<readonly Queued[]> {
    const document = await this.#options.documents[act](...this.#placeOf(id))
    if (act === 'take' || !document) this.#remove(id)
    return document ? queuedFrom(String(document.body)) : []
  }
}

/** What is known of the queue of an address. */
export async function aboutQueue(documents: Documents, id: string): Promise<AboutQueue> {
  const document = await documents.get(folder, id)
  const about = aboutFrom(document && String(document.body))
  return about && about.firstPage > about.lastPage - mostPages ? about : { ...noQueue }
}

/** Lets an address that has ended get notices again. */
export async function reviveQueue(documents: Documents, id: string): Promise<void> {
  const { ended, ...about } = await aboutQueue(documents, id)
  if (ended) await documents.put(folder, id, JSON.stringify(about), { keptMs: forgottenMs })
}

/** The notices of a queue, a page at a time: the newest, and then those of the store. */
export async function* queuedIn(
  documents: Documents,
  id: string,
  { firstPage, lastPage }: AboutQueue,
  newest: readonly Queued[],
): AsyncGenerator<readonly Queued[]> {
  if (newest.length > 0) yield newest
  for (let page = lastPage; page >= firstPage; page--) {
    const found = await pageIn(documents, id, page)
    yield found.reverse().flatMap(({ text }) => queuedFrom(text()))
  }
}

/** The notices of a page, the oldest first. */
async function pageIn(documents: Documents, id: string, page: number) {
  const found = await documents.list(pageOf(id, page))
  return found.documents
    .map(({ name, body }) => ({ addedAtMs: parseInt(name), text: () => String(body) }))
    .sort((a, b) => a.addedAtMs - b.addedAtMs)
}

function pageOf(id: string, page: number): string {
  return `${folder}:${id}:${page}`
}

function dueMsOf({ isGivenUp, nextTryMs = 0 }: Queued): number | undefined {
  return isGivenUp ? undefined : nextTryMs
}
