import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../shared/clock.ts'
import { digest, noticeOf } from '../../front/records/notice.ts'
import type { Outbox } from './outbox.ts'
import type { Turn } from '../../front/records/notice-store.ts'

const subject = 'config'
const refusedSubject = 'config refused'

/** The most mistakes of a file that a notice tells. */
const mostMistakes = 20

export type ConfigNewsOptions = Readonly<{ outbox: Outbox; clock: Clock; id: string }>

/** A change of the configuration, with the places of the settings that differ. */
export type ChangedConfig = Readonly<{ file: string; hash: string; by: string; places: string[] }>

/** Tells of changed and of refused configurations. All gateways read the same file: the fleet is told once, by the first. */
export class ConfigNews {
  readonly #options: ConfigNewsOptions
  #hasBegun = false

  constructor(options: ConfigNewsOptions) {
    this.#options = options
  }

  /** Notes the configuration of the start, with which later ones are compared. */
  async begin(hash: string, turns: readonly Turn[]): Promise<void> {
    if (this.#hasBegun) return
    const { outbox, id } = this.#options
    const state = turns.find((turn) => turn.subject === subject)?.state
    if (state !== hash) await outbox.turnNow({ subject, state: hash, by: id }, undefined)
    this.#hasBegun = true
  }

  changed({ file, hash, by, places }: ChangedConfig): void {
    const { outbox, clock, id } = this.#options
    const atMs = clock()
    this.#hasBegun = true
    const data = { file, config: hash, changed: places, by }
    const notice = noticeOf({ type: 'config.changed', parts: [randomUUID()], atMs, data })
    outbox.turn({ subject, state: hash, by: id }, notice)
  }

  /** Tells of a file's mistakes; `more` is the number of further ones. */
  refused(file: string, mistakes: readonly string[], more = 0): void {
    const { outbox, clock, id } = this.#options
    const atMs = clock()
    const state = digest(mistakes)
    const data = { file, mistakes: mistakes.slice(0, mostMistakes), count: mistakes.length + more }
    const notice = noticeOf({ type: 'config.refused', parts: [randomUUID()], atMs, data })
    outbox.turn({ subject: refusedSubject, state, by: id }, notice)
  }

  /** Notes that the file has no mistakes now: the next ones are news. */
  sound(): void {
    const { outbox, id } = this.#options
    outbox.turn({ subject: refusedSubject, state: '', by: id }, undefined)
  }
}
