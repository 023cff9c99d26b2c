import type { Clock } from '../../../shared/clock.ts'
import { readerOf, timeSchema, Type } from '../../../shared/schema.ts'
import { within } from '../../../shared/within.ts'
import type { Document, Documents } from '../shelves/documents.ts'
import {
  differMs,
  goneMs,
  memberSchema,
  type FleetNews,
  type FleetState,
  type FleetStore,
  type Member,
} from './store.ts'

/** The time between two beats of a gateway. */
const beatMs = 1_000

/** The most beats from one look at the others to the next: many gateways that look are much to read. */
const lookEvery = 5

/** How long a difference of configurations is remembered that no gateway looks at. */
const differenceKeptMs = 60_000

/** The longest that the end of a process waits for a silent store. */
const leaveMs = 500

/** Differences of clocks below this come from the way to the store, and change no time that was told. */
const clockNoiseMs = 250

/** The folder of the lines of gateways, by their ids, and the name of the document there that says that they differ. */
const [folder, differenceName] = ['fleet', 'difference']

/** The gateways of a store, and for tests a whole beat of all that have joined here. */
export type SharedFleet = FleetStore & Readonly<{ beat: () => Promise<void> }>

/** The gateways that share a shelf of documents. Each puts a line about itself, which ends if it falls silent. */
export function fleetOn(documents: Documents, clock: Clock = Date.now): SharedFleet {
  const pulses = new Set<Pulse>()
  return {
    get size() {
      return Math.max(1, ...[...pulses].map(({ size }) => size))
    },

    get configs() {
      return Math.max(0, ...[...pulses].map(({ configs }) => configs))
    },

    join(self, heard) {
      const pulse = new Pulse({ documents, clock, self, heard })
      pulses.add(pulse)
      return () => {
        pulses.delete(pulse)
        return pulse.leave()
      }
    },

    list: () => listIn(documents),

    async take(lease, holder, about) {
      for (;;) {
        const present = await leaseIn(documents, lease)
        if (present?.holder !== undefined && present.holder !== holder) return present.about
        const options = { keptMs: goneMs, version: present?.version ?? 0 }
        if (await documents.put('leases', lease, `${holder} ${about}`, options)) return undefined
      }
    },

    async leave(lease, holder) {
      const present = await leaseIn(documents, lease)
      if (present?.holder !== holder) return
      await documents.put('leases', lease, '', { keptMs: 0, version: present.version })
    },

    async beat() {
      for (const pulse of pulses) await pulse.beat(true)
    },

    async close() {
      await Promise.all([...pulses].map((pulse) => pulse.leave()))
      pulses.clear()
    },
  }
}

type PulseOptions = Readonly<{
  documents: Documents
  clock: Clock
  self: () => Member
  heard: (news: FleetNews) => void
}>

/** The beats of one gateway. */
class Pulse {
  readonly #options: PulseOptions
  readonly #id: string
  readonly #timer: NodeJS.Timeout
  /** The store's clock minus ours; `undefined` before the first answer. */
  #offsetMs: number | undefined
  /** The beginning of the difference of configurations that this gateway has reported. */
  #reported: number | undefined
  #beats = 0
  #beating: Promise<void> | undefined
  #isLeaving = false
  size = 1
  configs = 0

  constructor(options: PulseOptions) {
    this.#options = options
    this.#id = options.self().id
    const tryBeat = (): void => {
      if (this.#beating) return
      const isToLook = this.#beats++ % Math.min(lookEvery, this.size) === 0
      this.beat(isToLook).catch(() => undefined)
    }
    this.#timer = setInterval(tryBeat, beatMs).unref()
    tryBeat()
  }

  /** Beats once, after a beat that is under way. */
  async beat(isToLook: boolean): Promise<void> {
    await this.#beating?.catch(() => undefined)
    this.#beating = this.#beat(isToLook).finally(() => (this.#beating = undefined))
    await this.#beating
  }

  /** Leaves, so that the others count without this gateway. */
  async leave(): Promise<void> {
    clearInterval(this.#timer)
    this.#isLeaving = true
    const left = this.#options.documents.take(folder, this.#id).catch(() => undefined)
    await within(leaveMs, left)
  }

  async #beat(isToLook: boolean): Promise<void> {
    const { documents } = this.#options
    if (this.#offsetMs === undefined) this.#setClock((await documents.list(folder)).nowMs)
    if (this.#isLeaving) return
    await documents.put(folder, this.#id, this.#line(), { keptMs: goneMs })
    if (isToLook) await this.#look()
  }

  async #look(): Promise<void> {
    const { nowMs, members, silent, difference } = await lookIn(this.#options.documents)
    this.#setClock(nowMs)
    this.size = members.length + silent
    this.configs = new Set(members.flatMap(({ config }) => config?.sharedHash ?? [])).size
    if (this.configs > 1) await this.#differ(difference, nowMs)
    else if (difference) await this.#agree()
  }

  /** Notes a difference, keeps the note, and tells of it once it is news: one gateway does. */
  async #differ(noted: Difference | undefined, nowMs: number): Promise<void> {
    const { sinceMs = nowMs, by, version = 0, untilMs = 0 } = noted ?? {}
    const isNews = by === undefined && nowMs - sinceMs >= differMs
    const teller = isNews ? this.#id : by
    if (isNews || untilMs - nowMs < differenceKeptMs / 2) {
      const text = JSON.stringify({ sinceMs, by: teller })
      const options = { keptMs: differenceKeptMs, version }
      if (!(await this.#options.documents.put(folder, differenceName, text, options))) return
    }
    // At each look, because an answer may be lost.
    if (teller !== this.#id || this.#reported === sinceMs) return
    this.#reported = sinceMs
    this.#options.heard('differ')
  }

  async #agree(): Promise<void> {
    const taken = await this.#options.documents.take(folder, differenceName)
    this.#reported = undefined
    if (taken && differenceFrom(taken)?.by !== undefined) this.#options.heard('agree')
  }

  #setClock(nowMs: number): void {
    const offsetMs = nowMs - this.#options.clock()
    const before = this.#offsetMs ?? Infinity
    if (Math.abs(offsetMs - before) >= clockNoiseMs) this.#offsetMs = offsetMs
  }

  /** The line about this gateway, with times by the store's clock. */
  #line(): string {
    const offsetMs = this.#offsetMs ?? 0
    const { config, ...self } = this.#options.self()
    return JSON.stringify({
      ...self,
      sinceMs: self.sinceMs + offsetMs,
      config: config && { ...config, sinceMs: config.sinceMs + offsetMs },
    })
  }
}

async function listIn(documents: Documents): Promise<FleetState> {
  const { difference, ...state } = await lookIn(documents)
  return { ...state, differSinceMs: difference?.sinceMs }
}

/** The gateways now; those of another version may have lines that this one can't read. */
async function lookIn(documents: Documents) {
  const { nowMs, documents: all } = await documents.list(folder)
  const lines = all.filter(({ name }) => name !== differenceName)
  const members = lines.flatMap(({ body, untilMs }) => {
    const member = memberFrom(String(body))
    return member ? [{ ...member, seenAtMs: untilMs - goneMs }] : []
  })
  const [difference] = all.flatMap((each) => differenceFrom(each) ?? [])
  return { nowMs, members, silent: lines.length - members.length, difference }
}

/** Configurations differ since a time; `by` is the gateway that tells of it. */
type Difference = NonNullable<ReturnType<typeof differenceFrom>>

function differenceFrom({ name, body, version, untilMs }: Document) {
  const noted = name === differenceName ? notedFrom(String(body)) : undefined
  return noted && { ...noted, version, untilMs }
}

async function leaseIn(documents: Documents, lease: string) {
  const stored = await documents.get('leases', lease)
  const [, holder, about] = /^(\S+) (.*)$/s.exec(String(stored?.body)) ?? []
  return stored && { holder, about: about ?? '', version: stored.version }
}

const notedFrom = readerOf(Type.Object({ sinceMs: timeSchema, by: Type.Optional(Type.String()) }))
const memberFrom = readerOf(memberSchema)
