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
      const pulse = pulseOf({ documents, clock, self, heard })
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
type Pulse = ReturnType<typeof pulseOf>

function pulseOf({ documents, clock, self, heard }: PulseOptions) {
  const { id } = self()
  /** The store's clock minus ours; `undefined` before the first answer. */
  let offsetMs: number | undefined
  /** The beginning of the difference of configurations that this gateway has reported. */
  let reported: number | undefined
  let [beats, size, configs] = [0, 1, 0]
  let beating: Promise<void> | undefined
  let isLeaving = false
  const timer = setInterval(tryBeat, beatMs).unref()
  tryBeat()

  function tryBeat(): void {
    if (beating) return
    const isToLook = beats++ % Math.min(lookEvery, size) === 0
    beat(isToLook).catch(() => undefined)
  }

  /** Beats once, after a beat that is under way. */
  async function beat(isToLook: boolean): Promise<void> {
    await beating?.catch(() => undefined)
    beating = beatOnce(isToLook).finally(() => (beating = undefined))
    await beating
  }

  async function beatOnce(isToLook: boolean): Promise<void> {
    if (offsetMs === undefined) setClock((await documents.list(folder)).nowMs)
    if (isLeaving) return
    await documents.put(folder, id, line(), { keptMs: goneMs })
    if (isToLook) await look()
  }

  async function look(): Promise<void> {
    const { nowMs, members, silent, difference } = await lookIn(documents)
    setClock(nowMs)
    size = members.length + silent
    configs = new Set(members.flatMap(({ config }) => config?.sharedHash ?? [])).size
    if (configs > 1) await differ(difference, nowMs)
    else if (difference) await agree()
  }

  /** Notes a difference, keeps the note, and tells of it once it is news: one gateway does. */
  async function differ(noted: Difference | undefined, nowMs: number): Promise<void> {
    const { sinceMs = nowMs, by, version = 0, untilMs = 0 } = noted ?? {}
    const isNews = by === undefined && nowMs - sinceMs >= differMs
    const teller = isNews ? id : by
    if (isNews || untilMs - nowMs < differenceKeptMs / 2) {
      const text = JSON.stringify({ sinceMs, by: teller })
      const options = { keptMs: differenceKeptMs, version }
      if (!(await documents.put(folder, differenceName, text, options))) return
    }
    // At each look, because an answer may be lost.
    if (teller !== id || reported === sinceMs) return
    reported = sinceMs
    heard('differ')
  }

  async function agree(): Promise<void> {
    const taken = await documents.take(folder, differenceName)
    reported = undefined
    if (taken && differenceFrom(taken)?.by !== undefined) heard('agree')
  }

  function setClock(nowMs: number): void {
    const latest = nowMs - clock()
    if (Math.abs(latest - (offsetMs ?? Infinity)) >= clockNoiseMs) offsetMs = latest
  }

  /** The line about this gateway, with times by the store's clock. */
  function line(): string {
    const { config, ...own } = self()
    return JSON.stringify({
      ...own,
      sinceMs: own.sinceMs + (offsetMs ?? 0),
      config: config && { ...config, sinceMs: config.sinceMs + (offsetMs ?? 0) },
    })
  }

  return {
    get size() {
      return size
    },

    get configs() {
      return configs
    },

    beat,

    /** Leaves, so that the others count without this gateway. */
    async leave(): Promise<void> {
      clearInterval(timer)
      isLeaving = true
      await within(
        leaveMs,
        documents.take(folder, id).catch(() => undefined),
      )
    },
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
