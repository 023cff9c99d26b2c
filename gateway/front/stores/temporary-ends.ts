import { breathe } from '../../../shared/breathe.ts'
import type { Clock } from '../../../shared/clock.ts'
import { checkerOf, Type } from '../../../shared/schema.ts'
import { dayMs } from '../../../shared/windows.ts'
import { auditStart } from '../records/audit-list.ts'
import { isAsked, type AuditEntry, type AuditStore } from '../records/audit-store.ts'
import { rememberedDays } from '../counts/tally-store.ts'

/** The action of a line about an end. */
const what = 'keys.revert'

/**
 * Adds a line to an audit for each instant at which a plan or limits for a time have ended. Nobody writes it: it follows
 * from the line that gave them and the next one of that key, so it is there exactly once, however many gateways run, and
 * also if none ran at that instant.
 */
export function withTemporaryEnds(audit: AuditStore, clock: Clock): AuditStore {
  const ends = new TemporaryEnds(audit)
  return {
    add: (entry) => audit.add(entry),
    since: (cursor) => audit.since(cursor),

    async list(query) {
      const entries = await audit.list(query)
      if (!what.startsWith(query.what ?? '')) return entries
      const nowMs = clock()
      const asked = (await ends.until(nowMs)).filter(
        (end) => end.atMs >= query.fromMs && isAsked(end, query),
      )
      return asked.length === 0 ? entries : merged(entries, asked).slice(0, query.limit)
    },
  }
}

/** Puts ends, in any order, among lines that are the newest first. */
function merged(entries: readonly AuditEntry[], ends: readonly AuditEntry[]): AuditEntry[] {
  const rest = [...ends].sort((a, b) => a.atMs - b.atMs)
  const all: AuditEntry[] = []
  for (const entry of entries) {
    for (let end = rest.at(-1); end && end.atMs >= entry.atMs; end = rest.at(-1)) {
      all.push(end)
      rest.pop()
    }
    all.push(entry)
  }
  return [...all, ...rest.reverse()]
}

/** Follows an audit from its start, so that a question reads only the lines since the one before. */
class TemporaryEnds {
  readonly #audit: AuditStore
  #cursor = auditStart
  #reading: Promise<void> | undefined
  /** The ends that the latest line of each key tells of. */
  readonly #ahead = new Map<string, readonly AuditEntry[]>()
  /** The ends that had come when the key was changed again. */
  #over: AuditEntry[] = []

  constructor(audit: AuditStore) {
    this.#audit = audit
  }

  /** The ends up to a time, in any order. */
  async until(nowMs: number): Promise<readonly AuditEntry[]> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    await this.#reading
    this.#forget(nowMs - rememberedDays * dayMs)
    const come = [...this.#ahead.values()].flat().filter(({ atMs }) => atMs <= nowMs)
    return [...this.#over, ...come]
  }

  async #read(): Promise<void> {
    for (;;) {
      const { entries, cursor } = await this.#audit.since(this.#cursor)
      for (const entry of entries) if (entry.what.startsWith('keys.')) this.#take(entry)
      if (cursor === this.#cursor) return
      this.#cursor = cursor
      await breathe()
    }
  }

  #take({ subject, before, after }: AuditEntry): void {
    // A change that still saw an end ahead came before it, and says by itself what is ahead now.
    const seen = new Set(endsIn(subject, before).map(({ atMs }) => atMs))
    const former = this.#ahead.get(subject) ?? []
    this.#over.push(...former.filter(({ atMs }) => !seen.has(atMs)))
    const ends = endsIn(subject, after)
    if (ends.length > 0) this.#ahead.set(subject, ends)
    else this.#ahead.delete(subject)
  }

  #forget(beforeMs: number): void {
    this.#over = this.#over.filter(({ atMs }) => atMs >= beforeMs)
    for (const [subject, ends] of this.#ahead) {
      if (ends.every(({ atMs }) => atMs < beforeMs)) this.#ahead.delete(subject)
    }
  }
}

const time = Type.Optional(Type.String())
const isView = checkerOf(
  Type.Object({
    plan: Type.String(),
    until: time,
    state: Type.String(),
    limits: Type.Optional(Type.Object({ until: time })),
    afterwards: Type.Object({
      plan: Type.String(),
      limits: Type.Union([Type.Object({}), Type.Null()]),
    }),
  }),
)

/** The ends that a key's view in the audit tells of; a revoked key has none. */
function endsIn(subject: string, view: unknown): AuditEntry[] {
  if (!isView(view) || view.state === 'revoked') return []
  const { plan, until, afterwards } = view
  const { until: limitsUntil, ...limits } = view.limits ?? {}
  const ofPlan = { before: { plan }, after: { plan: afterwards.plan } }
  const ofLimits = {
    before: { limits },
    after: afterwards.limits === null ? {} : { limits: afterwards.limits },
  }
  const end = (at: string, { before, after }: Pick<AuditEntry, 'before' | 'after'>) => {
    return { atMs: Date.parse(at), by: 'gateway', what, subject, before, after }
  }
  if (until !== undefined && until === limitsUntil) {
    const before = { ...ofPlan.before, ...ofLimits.before }
    return [end(until, { before, after: { ...ofPlan.after, ...ofLimits.after } })]
  }
  return [
    ...(until === undefined ? [] : [end(until, ofPlan)]),
    ...(limitsUntil === undefined ? [] : [end(limitsUntil, ofLimits)]),
  ]
}
