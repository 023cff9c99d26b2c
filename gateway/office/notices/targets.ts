import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../shared/clock.ts'
import type { TargetFigures } from '../live/figures.ts'
import { noticeOf } from '../../front/records/notice.ts'
import type { Outbox } from './outbox.ts'
import type { Turn } from '../../front/records/notice-store.ts'

/** How long a gateway must have run for its own view of a target to count: a new one takes all for healthy. */
const settledMs = 30_000

const prefix = 'target '

export type TargetNewsOptions = Readonly<{ outbox: Outbox; clock: Clock; id: string }>

/** Tells that targets are taken out and let back in. The fleet is told once, by the gateway that is first. */
export class TargetNews {
  readonly #options: TargetNewsOptions
  readonly #beganAtMs: number

  constructor(options: TargetNewsOptions) {
    this.#options = options
    this.#beganAtMs = options.clock()
  }

  out(upstream: string, target: string, cause: Error | undefined): void {
    this.#tell(upstream, target, cause?.message ?? null)
  }

  back(upstream: string, target: string): void {
    this.#tell(upstream, target, undefined)
  }

  /**
   * Lets targets back in that a gateway has taken out which is gone: nobody else will say so. Those that are in the
   * configuration no more are forgotten.
   */
  async mend(
    turns: readonly Turn[],
    members: () => Promise<readonly string[]>,
    targets: readonly TargetFigures[],
  ): Promise<void> {
    const { outbox, clock, id } = this.#options
    const out = turns.filter(({ subject }) => subject.startsWith(prefix))
    if (out.length === 0 || clock() - this.#beganAtMs < settledMs) return
    const present = await members()
    for (const { subject, by } of out) {
      const seen = targets.find((each) => subjectOf(each.upstream, each.target) === subject)
      if (!seen) await outbox.turnNow({ subject, state: '', by: id }, undefined)
      else if (seen.healthy && !present.includes(by)) this.back(seen.upstream, seen.target)
    }
  }

  /** `why` is left out for a target that is back. */
  #tell(upstream: string, target: string, why: string | null | undefined): void {
    const { outbox, clock, id } = this.#options
    const atMs = clock()
    const isOut = why !== undefined
    const type = isOut ? 'upstream.target_out' : 'upstream.target_back'
    const data = isOut ? { upstream, target, why } : { upstream, target }
    const notice = noticeOf({ type, parts: [randomUUID()], atMs, data })
    outbox.turn({ subject: subjectOf(upstream, target), state: isOut ? 'out' : '', by: id }, notice)
  }
}

function subjectOf(upstream: string, target: string): string {
  return `${prefix}${upstream} ${target}`
}
