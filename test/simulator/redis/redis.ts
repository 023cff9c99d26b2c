import type { Clock } from '../../../shared/clock.ts'
import { dayWindow, numberAt } from '../../../shared/windows.ts'
import { copyOf } from '../../../gateway/front/limits/counters.ts'
import { mostGrants, runsAt } from '../../../gateway/front/limits/grants.ts'
import { tellPlaces } from '../../../gateway/front/limits/places.ts'
import { leftIn, newPurse, takenPart, topped } from '../../../gateway/front/limits/purse.ts'
import { adjust, roll } from '../../../gateway/front/limits/quota-state.ts'
import {
  outcomeOf,
  withTopUp,
  type NewTopUp,
  type TopUpOutcome,
} from '../../../gateway/front/limits/top-ups.ts'
import { applyCommand } from '../../../gateway/front/stores/embedded/apply-command.ts'
import type { Answer, Edit, Message } from '../messages.ts'
import { decideIn } from './decide.ts'
import { isMade } from './made-adjustments.ts'
import { copyOfQuota, newStoredQuota, type StoredQuota } from './quota-copy.ts'

/** A quota that has lost writes: as it was, and as it is. */
export type Loss = Readonly<{ quota: string; before: StoredQuota; after: StoredQuota }>

/**
 * A Redis without sockets. It runs the step that the contracts hold equal to the scripts, on states of its own. It may
 * have a replica that is behind, and lose what the replica lacks.
 */
export class SimulatedRedis {
  /** Its clock minus the simulated time. */
  skewMs = 0
  /** The number of lifts, resets and grants; 0 after it has lost it. */
  lifts = 0
  readonly #clock: Clock
  #quotas = new Map<string, StoredQuota>()
  readonly #strangers = new Map<string, number>()
  #commands = 0
  /** As the replica has them, the quotas that were written since it fell behind. */
  #behind: Map<string, StoredQuota> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get nowMs(): number {
    return this.#clock() + this.skewMs
  }

  get quotas(): ReadonlyMap<string, StoredQuota> {
    return this.#quotas
  }

  get isBehind(): boolean {
    return this.#behind !== undefined
  }

  answer(message: Message): Answer {
    switch (message.kind) {
      case 'decide':
        return decideIn(this.#write(message.quota), message.ask, this.nowMs)
      case 'adjust':
        return this.#adjust(message)
      case 'places':
        for (const { quota, told } of message.reports) {
          tellPlaces(this.#write(quota).state, told, this.nowMs)
        }
        return 0
      case 'strangers':
        return message.points.map(({ address, window, number, points }) => {
          const name = `${window}:${number}:${address}`
          const sum = (this.#strangers.get(name) ?? 0) + points
          this.#strangers.set(name, sum)
          return sum
        })
      case 'lifts':
        return this.lifts
      case 'probe':
        return 0
    }
  }

  /** `false` if it isn't made: a quota takes no more grants; of a top-up what became of it. */
  edit(edit: Edit): boolean | string {
    const { state } = this.#write(edit.quota)
    const stored = this.#write(edit.quota)
    const command = {
      seq: ++this.#commands,
      what: edit.kind,
      quota: edit.quota,
      key: '',
      untilMs: 0,
      atMs: this.nowMs,
    }
    this.lifts++
    switch (edit.kind) {
      case 'reset':
        applyCommand(state, command, this.nowMs)
        return true
      case 'month':
        applyCommand(state, { ...command, untilMs: edit.monthFrom }, this.nowMs)
        return true
      case 'grant': {
        const running = state.grants?.each.filter((each) =>
          runsAt(each, this.nowMs, state.monthFrom),
        )
        if (running && running.length >= mostGrants) return false
        const key = JSON.stringify(edit.grant)
        applyCommand(state, { ...command, key, untilMs: this.nowMs }, this.nowMs)
        stored.isMarked = true
        return true
      }
      case 'ban':
        applyCommand(state, { ...command, key: edit.key, untilMs: edit.untilMs }, this.nowMs)
        stored.isMarked = true
        return true
      case 'lift':
        applyCommand(state, { ...command, key: edit.key }, this.nowMs)
        return true
      case 'top-up':
        return this.#topUp(stored, edit.topUp)
    }
  }

  /** The replica falls behind: what is written from now on may be lost. */
  fallBehind(): void {
    this.#behind ??= new Map()
  }

  catchUp(): void {
    this.#behind = undefined
  }

  /** The replica takes over, with what it has. */
  failOver(): Loss[] {
    const losses = [...(this.#behind ?? [])].map(([quota, after]) => {
      const before = this.#quotas.get(quota) ?? newStoredQuota()
      this.#quotas.set(quota, after)
      return { quota, before, after }
    })
    this.#behind = undefined
    return losses
  }

  /** It loses everything. */
  empty(): Loss[] {
    this.#behind = new Map([...this.#quotas.keys()].map((quota) => [quota, newStoredQuota()]))
    this.lifts = 0
    this.#strangers.clear()
    return this.failOver()
  }

  #adjust({ quota, adjustment, admission }: Extract<Message, { kind: 'adjust' }>): Answer {
    const { state, made } = this.#write(quota)
    const { numbered } = admission
    const today = numberAt(dayWindow, this.nowMs)
    // One that was made brings lost writes back, as all do, and adds nothing.
    const wasMade = numbered !== undefined && isMade(made, numbered, today)
    const points = wasMade ? 0 : adjustment.points
    adjust(state, { ...adjustment, points }, admission, this.nowMs)
    if (!admission.purse) return copyOf(state)
    const taken = state.parts?.get(takenPart)
    const parts = taken && new Map([[takenPart, copyOf(taken)]])
    return { ...copyOf(state), purse: { ...(state.purse ?? newPurse()) }, parts }
  }

  #topUp(stored: StoredQuota, given: NewTopUp): string {
    const { state, topUps } = stored
    const purse = state.purse ?? newPurse()
    const answer = outcomeOf(topUps, given, leftIn(purse), this.nowMs)
    if (answer.outcome === 'done') {
      roll(state, this.nowMs)
      stored.topUps = withTopUp(topUps, answer.topUp)
      state.purse = topped(purse, given.points)
    }
    return textOfTopUp(answer)
  }

  #write(quota: string): StoredQuota {
    const stored = this.#quotas.get(quota) ?? newStoredQuota()
    this.#quotas.set(quota, stored)
    if (this.#behind?.has(quota) === false) this.#behind.set(quota, copyOfQuota(stored))
    return stored
  }
}

/** What became of a top-up. */
export function textOfTopUp(answer: TopUpOutcome): string {
  if (answer.outcome === 'short') return `short: ${answer.left}`
  const { id, points, atMs, left } = answer.topUp
  return `${answer.outcome}: ${[id, points, atMs, left].join(' ')}`
}
