import { windows } from '../../shared/windows.ts'
import { numberOf, usedIn, type Counters } from '../../gateway/front/limits/counters.ts'
import { neededBy, type Ask, type Decision } from '../../gateway/front/limits/step.ts'
import { nameOfPart } from '../../gateway/front/limits/places.ts'
import type { QuotaPoints } from '../../gateway/front/limits/past-points.ts'
import { purseText, takenPart, type PurseState } from '../../gateway/front/limits/purse.ts'
import type { Adjusted, QuotaStore } from '../../gateway/front/limits/store.ts'
import { redisQuotas } from '../../gateway/front/stores/redis/quota.ts'
import type { Connection } from '../../gateway/front/stores/redis/connect.ts'
import type { Edit } from './messages.ts'
import type { Happening } from './happening.ts'
import { textOfTopUp } from './redis/redis.ts'

export type Replayed = Readonly<{
  /** The questions that were asked again. */
  questions: number
  /** The first answer that isn't the simulated one. */
  difference: string | undefined
}>

/**
 * Asks a real Redis, by the real adapter and its scripts, whatever a simulated one was asked, in the same order and at the
 * same times, and compares each answer. Where the simulated one lost writes, so does the real one.
 */
export async function replay(
  happenings: readonly Happening[],
  connection: Connection,
  prefix: string,
): Promise<Replayed> {
  let nowMs = 0
  const store = redisQuotas({ connection, prefix, timeoutMs: 5_000, testClock: () => nowMs })
  const copies = new RedisCopies(connection, `${prefix}quota:`)
  let questions = 0
  const from = (difference: string): Replayed => ({ questions, difference })
  for (const happening of happenings) {
    if ('nowMs' in happening) ({ nowMs } = happening)
    if (happening.what === 'message') {
      questions++
      const difference = await differenceOf(store, happening)
      if (difference) return from(difference)
    } else if (happening.what === 'edit') {
      const found = await edited(store, happening.edit)
      if (found !== happening.outcome) return from(`${JSON.stringify(happening)}, not ${found}`)
    } else if (happening.what === 'ledger') {
      const difference = await ledgerDifference(store, happening)
      if (difference) return from(difference)
    } else await copies[happening.what]()
  }
  await store.close()
  return { questions, difference: undefined }
}

async function differenceOf(
  store: QuotaStore,
  { message, answer }: Extract<Happening, { what: 'message' }>,
): Promise<string | undefined> {
  if (message.kind === 'decide') {
    const { quota, ask } = message
    const [expected, found] = [answer as Decision, await store.decide(quota, ask)].map((decision) =>
      textOfDecision(decision, ask),
    )
    return expected === found ? undefined : `${quota}: ${found}, not ${expected}`
  }
  if (message.kind === 'places') await store.tellPlaces(message.reports)
  if (message.kind !== 'adjust') return undefined
  const { quota, adjustment, admission } = message
  const found = textOfAdjusted(await store.adjust(quota, adjustment, admission))
  const expected = textOfAdjusted(answer as Adjusted)
  return expected === found ? undefined : `${quota}, adjusted: ${found}, not ${expected}`
}

/** The ledger of a day, by quotas. */
async function ledgerDifference(
  store: QuotaStore,
  { day, points }: Extract<Happening, { what: 'ledger' }>,
): Promise<string | undefined> {
  const found: QuotaPoints[] = []
  for await (const some of store.points(day)) found.push(...some)
  const [expectedText, foundText] = [points, found].map((all) =>
    all
      .map(({ quota, points, beyond = 0 }) => `${quota} ${points} ${beyond}`)
      .sort()
      .join(),
  )
  return expectedText === foundText ? undefined : `day ${day}: ${foundText}, not ${expectedText}`
}

/** All that callers, headers and later questions take from a decision. */
function textOfDecision(decision: Decision, ask: Ask): string {
  const { verdict, nowMs, strikes, bannedUntilMs, bans, seen, granted = {}, parts } = decision
  const isBriefSure = neededBy(ask) > 0 && ask.countsBrief === true
  const points = windows.map(({ limit }) => granted[limit] ?? 0)
  const ofParts = parts?.map(({ part, counters }) => part.name + textOfCounters(counters, false))
  const counts = textOfCounters(seen, isBriefSure)
  const places = decision.places?.map(({ part, used, holders = [] }) =>
    [nameOfPart(part), used, ...[...holders].sort()].join(' '),
  )
  const bought = decision.purse && textOfPurse(decision.purse)
  const own = [verdict, nowMs, strikes, bannedUntilMs, bans, counts, points]
  return [...own, ofParts, places, bought].join(' ')
}

function textOfPurse({ room, took, taken, ...purse }: PurseState): string {
  return `purse ${purseText(purse)}, ${took} taken, ${room} left: ${textOfCounters(taken, false)}`
}

function textOfAdjusted({ purse, parts, ...counters }: Adjusted): string {
  const taken = parts?.get(takenPart)
  const bought = purse && taken && `${purseText(purse)}: ${textOfCounters(taken, false)}`
  return [textOfCounters(counters, false), bought].join(' ')
}

function textOfCounters(counters: Counters, isBriefSure: boolean): string {
  const counts = windows
    .filter(({ isBrief }) => !isBrief || isBriefSure)
    .map((window) => `${window.name} ${numberOf(counters, window)}: ${usedIn(counters, window)}`)
  return [counters.generation, counters.monthFrom, ...counts].join(', ')
}

async function edited(store: QuotaStore, edit: Edit): Promise<boolean | string> {
  const { quota } = edit
  if (edit.kind === 'grant') return store.grant(quota, edit.grant)
  if (edit.kind === 'top-up') return textOfTopUp(await store.topUp(quota, edit.topUp))
  if (edit.kind === 'reset') await store.reset(quota)
  else if (edit.kind === 'month') await store.setMonthFrom(quota, edit.monthFrom)
  else if (edit.kind === 'ban') await store.ban(quota, edit.key, edit.untilMs)
  else await store.lift(quota, edit.key)
  return true
}

/** Takes copies of quotas in Redis, and puts them back: what a replica has that is behind. */
class RedisCopies {
  readonly #connection: Connection
  readonly #prefix: string
  #copies: Map<string, Buffer> | undefined

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection
    this.#prefix = prefix
  }

  async behind(): Promise<void> {
    const copies = new Map<string, Buffer>()
    for (const name of await this.#names()) {
      const copy = await this.#connection.dumpBuffer(name)
      if (copy) copies.set(name, copy)
    }
    this.#copies = copies
  }

  async caughtUp(): Promise<void> {
    this.#copies = undefined
  }

  async failOver(): Promise<void> {
    if (!this.#copies) return
    const copies = this.#copies
    await this.emptied()
    for (const [name, copy] of copies) await this.#connection.restore(name, 0, copy)
  }

  async emptied(): Promise<void> {
    this.#copies = undefined
    const names = await this.#names()
    if (names.length > 0) await this.#connection.del(...names)
  }

  #names(): Promise<string[]> {
    return this.#connection.keys(`${this.#prefix}*`)
  }
}
