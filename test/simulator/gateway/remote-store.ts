import { Breaker } from '../../../gateway/front/stores/breaker.ts'
import { within } from '../../../gateway/front/stores/redis/script.ts'
import type { Counters } from '../../../gateway/front/limits/counters.ts'
import type { Ask, Decision } from '../../../gateway/front/limits/step.ts'
import type { BanListener, QuotaStore } from '../../../gateway/front/limits/store.ts'
import type { StrangerStore } from '../../../gateway/front/limits/stranger-store.ts'
import type { StoreUnavailable } from '../../../shared/store-errors.ts'
import type { Draws } from '../draws.ts'
import { sent, sentAdmission, type Answer, type Message } from '../messages.ts'
import type { Network, Way } from '../network.ts'
import type { Timeline } from '../timeline.ts'

/** How long a gateway waits for an answer. */
export const timeoutMs = 50

export type RemoteOptions = Readonly<{
  name: string
  way: Way
  network: Network
  timeline: Timeline
  draws: Draws
  /** Hears of each question, as it leaves, and of each answer that is taken, or comes too late. */
  hears: Readonly<{
    asks: (message: Message) => void
    takes: (message: Message, answer: Answer) => void
    late: (quota: string, decision: Decision, tell: NonNullable<Ask['late']>) => void
  }>
}>

/** The stores of a gateway at the end of a simulated network, with the time limit and the breaker of those in Redis. */
export function remoteStores(options: RemoteOptions) {
  const { name, way, network, timeline, draws, hears } = options
  const { later, clock } = timeline
  const random = (): number => draws.below(1_000) / 1_000
  const timeouts = {
    timeoutMs,
    add: (wait: { isOver: boolean; late: () => void }) => void later(() => wait.late(), timeoutMs),
  }
  const listeners = new Set<BanListener>()
  const ask = (message: Message): Promise<unknown> =>
    within(
      timeouts,
      (answered, failed, isOver) => {
        hears.asks(message)
        const take = (answer: Answer): void => {
          if (!isOver()) hears.takes(message, answer)
          answered(answer)
        }
        network.send(message, { name, way }, take, failed)
      },
      message.kind === 'probe' ? undefined : breaker,
    )
  const breaker = new Breaker(() => ask({ kind: 'probe' }), { ticks: clock, later, random })
  let lifts: number | undefined
  const no = (): Promise<never> => Promise.reject(new Error('operators have ways of their own'))
  const quota: QuotaStore = {
    isLocal: false,
    decide: (quota, asked) => {
      const answer = ask({ kind: 'decide', quota, ask: sent(asked) }) as Promise<Decision>
      return answer.catch((error: StoreUnavailable) => {
        void error.late?.then((decision) =>
          hears.late(quota, decision as Decision, asked.late ?? (() => Promise.resolve())),
        )
        throw error
      })
    },
    adjust: (quota, adjustment, admission) =>
      ask({
        ...{ kind: 'adjust', quota, adjustment, admission: sentAdmission(admission) },
      }) as Promise<Counters>,
    watch(listener) {
      listeners.add(listener)
      if (listener.trouble) breaker.onChange(listener.trouble)
      return () => void listeners.delete(listener)
    },
    tellPlaces: (reports) => ask({ kind: 'places', reports }) as Promise<never>,
    places: no,
    freePlaces: no,
    ...{
      topUp: no,
      topUps: no,
      reset: no,
      setMonthFrom: no,
      grant: no,
      grants: no,
      ban: no,
      lift: no,
      bans: no,
    },
    async *points() {},
    close: () => Promise.resolve(),
  }
  const strangers: StrangerStore = {
    add: (points) => ask({ kind: 'strangers', points }) as Promise<readonly number[]>,
  }
  /** Looks whether operators have forgiven something, as `watchBans` does. */
  const poll = async (): Promise<void> => {
    const found = await ask({ kind: 'lifts' })
    const latest = Number(found) || (lifts ?? 0)
    if (lifts !== undefined && latest !== lifts) listeners.forEach(({ forgiven }) => forgiven())
    lifts = latest
  }
  return { quota, strangers, breaker, listeners, poll }
}
