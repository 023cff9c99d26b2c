import { readerOf, timeSchema, Type } from '../../../../shared/schema.ts'
import { copyOf } from '../../limits/counters.ts'
import { mostGrants, runsAt } from '../../limits/grants.ts'
import { usedOn } from '../../limits/past-points.ts'
import { takenIn, tellPlaces } from '../../limits/places.ts'
import { leftIn, newPurse, topped } from '../../limits/purse.ts'
import { outcomeOf, topUpsOf, withTopUp, type TopUpOutcome } from '../../limits/top-ups.ts'
import { adjust } from '../../limits/quota-state.ts'
import { neededBy, step as stepOn, type Ask, type Decision } from '../../limits/step.ts'
import type { Ban, BanListener, QuotaStore } from '../../limits/store.ts'
import type { Documents } from '../../shelves/documents.ts'
import type { Messages } from '../../shelves/messages.ts'
import { applyCommand } from '../embedded/apply-command.ts'
import { bansOf } from '../embedded/quota-reports.ts'
import type { OperatorCommand } from '../embedded/quota-file.ts'
import { keepUntil } from '../keep-until.ts'
import { isMade, quotaFrom, textOf, type SharedQuota } from './quota-text.ts'

/**
 * Decides one request and counts it. `state` is the text of its quota as the step before gave it, `undefined` for a quota that
 * isn't stored; `nowMs` is the store's time. Whoever stores the text compares it: of two steps at once, one begins anew.
 */
export function step(
  state: string | undefined,
  ask: Ask,
  nowMs: number,
): Readonly<{ state: string; decision: Decision }> {
  const quota = quotaFrom(state)
  const decision = stepOn(quota, ask, nowMs)
  return { state: textOf(quota), decision }
}

/** A quota in a table of an app's own. */
export type QuotaRow = Readonly<{
  quota: string
  /** A text without a meaning for the table. */
  state: string
  /** The row may be deleted then, by the store's time. */
  keptUntilMs: number
  /** The end of the quota's longest ban; 0 without one. */
  bannedUntilMs: number
}>

/** A table of quotas, for any number of processes. A table that can't be asked at the moment rejects with `StoreUnavailable`. */
export interface QuotaTable {
  /**
   * Changes a quota in one step: hands its state and the store's time to `change`, and puts the row that this gives; nothing for
   * `undefined`. If another process was faster, it calls `change` again, with the state that is there then.
   */
  change(
    quota: string,
    change: (state: string | undefined, nowMs: number) => QuotaRow | undefined,
  ): Promise<void>

  /** All rows, some at a time; or those whose ban ends later than a time. */
  list(bannedAfterMs?: number): AsyncIterable<readonly QuotaRow[]>
}

/** The folder and the name of the document whose version says that operators have forgiven something. */
const [folder, forgiven] = ['quotas', 'forgiven']

const forgivenKeptMs = 86_400_000

/** The time between two looks for what operators of other processes have done. */
const lookMs = 500

/** The channel of bans: gateways end the WebSockets of a key that is banned elsewhere. */
const channel = 'quotas'

const banFrom: (text: string) => Ban | undefined = readerOf(
  Type.Object({ key: Type.String(), quota: Type.String(), untilMs: timeSchema }),
)

/** The store of quotas in a table of an app's own, beside two other shelves, by which gateways hear of each other. */
export function quotasOn(
  table: QuotaTable,
  { documents, messages }: Readonly<{ documents: Documents; messages: Messages }>,
): QuotaStore {
  const listeners = new Map<BanListener, NodeJS.Timeout>()

  /** Changes a quota, and answers. A change that gives `undefined` changes nothing. */
  async function changed<Answer>(
    name: string,
    change: (quota: SharedQuota, nowMs: number) => Answer,
    isToPut: (answer: Answer) => boolean = () => true,
  ): Promise<Answer> {
    let last: Readonly<{ answer: Answer }> | undefined
    await table.change(name, (state, nowMs) => {
      const quota = quotaFrom(state)
      const answer = change(quota, nowMs)
      last = { answer }
      const text = textOf(quota)
      return isToPut(answer) && text !== state ? rowOf(name, quota, text) : undefined
    })
    if (!last) throw new Error('a table of quotas has changed a quota without asking how')
    return last.answer
  }

  const read = <Answer>(name: string, look: (quota: SharedQuota, nowMs: number) => Answer) =>
    changed(name, look, () => false)

  type Command = Pick<OperatorCommand, 'what'> & Partial<OperatorCommand>

  /** Does what an operator says, where `may` allows it, and tells all gateways. */
  async function command(
    quota: string,
    { key = '', untilMs = 0, what }: Command,
    may: (quota: SharedQuota, nowMs: number) => boolean = () => true,
  ): Promise<boolean> {
    const apply = (state: SharedQuota, nowMs: number): boolean => {
      if (!may(state, nowMs)) return false
      const seq = Math.max(0, ...(state.grants?.each ?? []).map(({ id = 0 }) => id)) + 1
      const time = { atMs: nowMs, untilMs: what === 'grant' ? nowMs : untilMs }
      applyCommand(state, { seq, what, quota, key, ...time }, nowMs)
      return true
    }
    const isDone = await changed(quota, apply, (done) => done)
    if (isDone) await tellForgiven()
    return isDone
  }

  async function tellForgiven(): Promise<void> {
    await documents.put(folder, forgiven, '', { keptMs: forgivenKeptMs })
    for (const listener of listeners.keys()) listener.forgiven()
  }

  /** The ban stands even if nobody hears of it: others learn of it when they ask. */
  const tellBan = (ban: Ban): void =>
    void messages.send(channel, JSON.stringify(ban)).catch(() => undefined)

  function hearBan(text: string): void {
    const ban = banFrom(text)
    if (ban) for (const listener of listeners.keys()) listener.banned(ban)
  }

  return {
    isLocal: false,

    async decide(quota, ask) {
      // A question of cost 0 counts nothing, and must not create a row.
      const { key, place, seen, owed } = ask
      const isLook =
        neededBy(ask) === 0 && !seen && !owed && (place === undefined || place.isLook === true)
      const decide = (state: SharedQuota, nowMs: number) => stepOn(state, ask, nowMs)
      const decision = await changed(quota, decide, () => !isLook)
      if (decision.bans) tellBan({ key, quota, untilMs: decision.bannedUntilMs })
      return decision
    },

    adjust: (quota, adjustment, admission) =>
      changed(quota, (state, nowMs) => {
        const { numbered } = admission
        const isRepeated = numbered !== undefined && isMade(state, numbered, nowMs)
        adjust(state, isRepeated ? { ...adjustment, points: 0 } : adjustment, admission, nowMs)
        const { purse, parts } = state
        return { ...copyOf(state), purse, parts }
      }),

    async tellPlaces(reports) {
      const told = reports.map(({ quota, told }) =>
        changed(quota, (state, nowMs) => tellPlaces(state, told, nowMs)),
      )
      await Promise.all(told)
    },

    places: (quota) => read(quota, ({ places }) => takenIn(places)),

    freePlaces: async (quota) => void (await command(quota, { what: 'places' })),
    reset: async (quota) => void (await command(quota, { what: 'reset' })),
    setMonthFrom: async (quota, monthFrom) =>
      void (await command(quota, { what: 'month', untilMs: monthFrom })),

    grant: (quota, grant) =>
      command(quota, { what: 'grant', key: JSON.stringify(grant) }, (state, nowMs) => {
        const given = state.grants?.each ?? []
        return given.filter((each) => runsAt(each, nowMs, state.monthFrom)).length < mostGrants
      }),

    grants: (quota) => read(quota, ({ grants }) => grants?.each ?? []),

    async topUp(quota, topUp) {
      const make = (state: SharedQuota, nowMs: number): TopUpOutcome => {
        const purse = state.purse ?? newPurse()
        const outcome = outcomeOf(state.topUps ?? '', topUp, leftIn(purse), nowMs)
        if (outcome.outcome === 'done') {
          state.purse = topped(purse, topUp.points)
          state.topUps = withTopUp(state.topUps ?? '', outcome.topUp)
        }
        return outcome
      }
      const outcome = await changed(quota, make, (made) => made.outcome === 'done')
      if (outcome.outcome === 'done') await tellForgiven()
      return outcome
    },

    topUps: (quota) => read(quota, ({ topUps }) => topUpsOf(topUps ?? '')),

    async ban(quota, key, untilMs) {
      await command(quota, { what: 'ban', key, untilMs })
      tellBan({ key, quota, untilMs })
    },

    async lift(quota, key) {
      let ran = false
      await command(quota, { what: 'lift', key }, ({ conducts }, nowMs) => {
        ran = (conducts?.get(key)?.bannedUntilMs ?? 0) > nowMs
        return true
      })
      return ran
    },

    async bans() {
      const { nowMs } = await documents.list(folder)
      const bans: Ban[] = []
      for await (const rows of table.list(nowMs)) {
        const states = rows.map(({ quota, state }) => [quota, quotaFrom(state)] as const)
        bans.push(...bansOf(states, nowMs))
      }
      return bans
    },

    async *points(day) {
      for await (const rows of table.list())
        yield rows.flatMap(({ quota, state }) => usedOn(quota, quotaFrom(state), day))
    },

    watch(listener) {
      let seen: number | undefined
      const look = async (): Promise<void> => {
        const version = (await documents.get(folder, forgiven))?.version ?? 0
        if (seen !== undefined && version !== seen) listener.forgiven()
        seen = version
      }
      const tryLook = (): void => void look().catch(() => undefined)
      // At once, so that the next act isn't taken for an old one.
      tryLook()
      messages.listen(channel, hearBan).catch(() => undefined)
      listeners.set(listener, setInterval(tryLook, lookMs).unref())
      return () => {
        clearInterval(listeners.get(listener))
        listeners.delete(listener)
      }
    },

    close() {
      listeners.forEach((timer) => clearInterval(timer))
      listeners.clear()
      return Promise.resolve()
    },
  }
}

function rowOf(quota: string, state: SharedQuota, text: string): QuotaRow {
  const bans = [...(state.conducts?.values() ?? [])].map(({ bannedUntilMs }) => bannedUntilMs)
  return {
    ...{ quota, state: text, keptUntilMs: keepUntil(state) },
    bannedUntilMs: Math.max(0, ...bans),
  }
}
