import type { Database } from '../../../../shared/sqlite.ts'
import { pollMs } from '../../keys/store.ts'
import { mostGrants, runsAt } from '../../limits/grants.ts'
import { takenIn, tellPlaces } from '../../limits/places.ts'
import { leftIn, newPurse } from '../../limits/purse.ts'
import { adjust, type QuotaState } from '../../limits/quota-state.ts'
import { neededBy, step } from '../../limits/step.ts'
import type { BanListener, QuotaStore } from '../../limits/store.ts'
import { topUpsOf } from '../../limits/top-ups.ts'
import type { OpenOptions } from '../stores.ts'
import { answerOf, promiseOf, unavailable } from './answer.ts'
import { applyCommand } from './apply-command.ts'
import { CachedQuotas } from './cached-quotas.ts'
import { claim } from './claim.ts'
import { quotaFile, type OperatorCommand } from './quota-file.ts'
import { bansIn, pointsIn } from './quota-reports.ts'
import { quotaWriter } from './quota-writer.ts'

/** The size of the WAL at which SQLite makes a checkpoint, in pages of 4 KiB. */
const checkpointPages = 4_000

/**
 * Counts in memory, and saves the counters in a SQLite file, so that a restart forgets nothing. One gateway
 * counts. Command lines read, enqueue their commands in the file, and the gateway applies them.
 */
export function embeddedQuotas(
  database: Database,
  { clock = Date.now, forCommandLine = false }: OpenOptions = {},
) {
  // A crash of the process loses nothing that was written; a power cut may lose a second of it.
  database.pragma('synchronous = NORMAL')
  database.pragma(`wal_autocheckpoint = ${checkpointPages}`)
  const claimed = forCommandLine ? undefined : claim(database)
  const file = quotaFile(database)
  const cache = new CachedQuotas((quota) => answerOf(() => file.read(quota)))
  const listeners = new Set<BanListener>()
  let appliedSeq = file.appliedSeq()
  let fileVersion: unknown
  // The journal that a killed gateway left.
  for (const [quota, state] of file.journal()) cache.add(quota, state).isJournaled = true
  const table = { file, isOpen: () => database.open }
  const writer = quotaWriter({
    ...{ database, file, cache, clock, listeners, isReader: forCommandLine },
    appliedSeq: () => appliedSeq,
  })
  const polling = forCommandLine ? undefined : setInterval(poll, pollMs).unref()
  applyCommands()

  function poll(): void {
    try {
      const version = file.version()
      if (version !== fileVersion) applyCommands()
      fileVersion = version
    } catch {
      // The next tick tries again.
    }
  }

  /** Applies the commands since the last time. Several processes may apply the same one, with the same result. */
  function applyCommands(): void {
    const commands = file.commandsSince(appliedSeq)
    for (const command of commands) {
      const cached = cache.get(command.quota)
      applyCommand(cached, command, clock())
      writer.mark(cached)
      appliedSeq = command.seq
    }
    if (commands.length === 0) return
    for (const { forgiven, banned } of listeners) {
      forgiven()
      for (const { what, ...ban } of commands) if (what === 'ban') banned(ban)
    }
  }

  /** Looks once all commands are applied. */
  const afterCommands = <Result>(look: () => Result): Result =>
    answerOf(() => {
      applyCommands()
      return look()
    })

  /** Enqueues a command, applies it, and saves the counters. */
  async function change<Result>(enqueue: () => Result): Promise<Result> {
    try {
      const result = enqueue()
      applyCommands()
      await writer.save()
      return result
    } catch (error) {
      throw unavailable(error)
    }
  }

  const run = (
    what: OperatorCommand['what'],
    quota: string,
    { key = '', untilMs = 0 }: Partial<Pick<OperatorCommand, 'key' | 'untilMs'>> = {},
  ): Promise<void> => change(() => file.enqueue({ what, quota, key, untilMs }, clock()))

  /** Quotas with bans or strikes that are newer than the table: those in memory, or in the journal for a command line. */
  function newerThanTable(): ReadonlyMap<string, QuotaState> {
    const newer = new Map<string, QuotaState>(forCommandLine ? file.journal() : [])
    for (const each of forCommandLine ? writer.unsaved : cache.all) {
      if (each.conducts) newer.set(each.quota, each)
    }
    return newer
  }

  /** Whether memory has a quota, and so is right about it, for instance about a ban that was lifted. */
  const isInMemory = (quota: string): boolean => !forCommandLine && cache.has(quota)

  const grantsOf = (quota: string) => afterCommands(() => cache.get(quota).grants?.each ?? [])

  return {
    isLocal: true,
    /** Whether no other gateway counts in the same file; each would count by itself. */
    isSoleGateway: forCommandLine || claimed !== undefined,

    decide(quota, ask) {
      const { slot } = ask
      const cached = slot ? cache.getVia(slot, quota) : cache.get(quota)
      const decision = step(cached, ask, clock())
      // A question of cost 0 counts nothing, and must not create a row.
      const isLook = neededBy(ask) === 0 && !ask.seen && !ask.owed
      if (!isLook && (decision.verdict !== 'banned' || decision.bans)) writer.mark(cached)
      return decision
    },

    adjust(quota, adjustment, admission) {
      const cached = cache.get(quota)
      adjust(cached, adjustment, admission, clock())
      writer.mark(cached)
      return cached
    },

    tellPlaces(reports) {
      for (const { quota, told } of reports) tellPlaces(cache.get(quota), told, clock())
      return Promise.resolve()
    },

    places: (quota) => Promise.resolve(takenIn(cache.get(quota).places)),
    freePlaces: (quota) => run('places', quota),
    reset: (quota) => run('reset', quota),
    setMonthFrom: (quota, monthFrom) => run('month', quota, { untilMs: monthFrom }),
    ban: (quota, key, untilMs) => run('ban', quota, { key, untilMs }),

    async grant(quota, grant) {
      const nowMs = clock()
      const { monthFrom } = cache.get(quota)
      const running = grantsOf(quota).filter((each) => runsAt(each, nowMs, monthFrom))
      if (running.length >= mostGrants) return false
      await run('grant', quota, { key: JSON.stringify(grant), untilMs: nowMs })
      return true
    },

    grants: (quota) => Promise.resolve(grantsOf(quota)),

    topUp: (quota, topUp) =>
      change(() => {
        applyCommands()
        const left = leftIn(cache.get(quota).purse ?? newPurse())
        return file.topUp(quota, topUp, left, clock())
      }),

    topUps: (quota) => promiseOf(() => topUpsOf(file.topUps(quota))),

    async lift(quota, key) {
      const state = afterCommands(() => newerThanTable().get(quota) ?? cache.get(quota))
      const ran = (state.conducts?.get(key)?.bannedUntilMs ?? 0) > clock()
      await run('lift', quota, { key })
      return ran
    },

    bans: async () => bansIn(table, afterCommands(newerThanTable), isInMemory, clock()),

    async *points(day) {
      answerOf(applyCommands)
      yield* pointsIn(table, cache, day)
    },

    async flush() {
      try {
        await writer.save()
      } catch (error) {
        throw unavailable(error)
      }
    },

    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    /** Writes all unsaved counters, even during a background save, and while the file is locked for some time. */
    async close() {
      clearInterval(polling)
      try {
        await writer.close()
      } finally {
        claimed?.close()
        database.close()
      }
    },
  } satisfies QuotaStore & Readonly<{ isSoleGateway: boolean }>
}
