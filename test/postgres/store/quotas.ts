import type { Documents, Messages, QuotaStore } from '../../../gateway/index.ts'
import { quotasOn, type QuotaRow } from '../../../gateway/step.ts'
import { nowAt, packed, unpacked, type Database } from './database.ts'

/** Rows that are read at a time. */
const atOnce = 500

/** Changes of a quota between two looks for rows that are too old. */
const forgetEvery = 1_000

/** Quotas in a table. Two round trips a decision: read, and write if nobody else has written. */
export function postgresQuotas(
  { query, testClock }: Database,
  shelves: Readonly<{ documents: Documents; messages: Messages }>,
): QuotaStore {
  /** The end of the last change of each quota here: those of one process queue, so that only processes race. */
  const turns = new Map<string, Promise<void>>()
  let changes = 0

  async function tryToChange(name: string, change: (...read: Read) => QuotaRow | undefined) {
    const [read] = await query(
      `SELECT ${nowAt(2)} AS now, state, version FROM (SELECT) one LEFT JOIN quotas ON quota = $1`,
      ...[name, testClock?.()],
    )
    const { now, state, version } = read ?? {}
    const row = change(state === null ? undefined : unpacked(state), Number(now))
    if (!row) return true
    const values = [name, packed(row.state), row.keptUntilMs, row.bannedUntilMs]
    const written =
      state === null
        ? await query(
            `INSERT INTO quotas VALUES ($1, $2, $3, $4, 1) ON CONFLICT DO NOTHING RETURNING 1`,
            ...values,
          )
        : await query(
            `UPDATE quotas SET state = $2, kept_until = $3, banned_until = $4, version = version + 1
             WHERE quota = $1 AND version = $5 RETURNING 1`,
            ...[...values, version],
          )
    if (changes++ % forgetEvery === 0) {
      await query('DELETE FROM quotas WHERE kept_until < $1', now)
    }
    return written.length === 1
  }

  return quotasOn(
    {
      async change(quota, change) {
        const name = packed(quota)
        const before = turns.get(name) ?? Promise.resolve()
        const turn = before.then(async () => {
          while (!(await tryToChange(name, change)));
        })
        const end = turn.catch(() => undefined)
        turns.set(name, end)
        void end.then(() => turns.get(name) === end && turns.delete(name))
        await turn
      },

      async *list(bannedAfterMs) {
        let after = ''
        for (;;) {
          const rows = await query(
            `SELECT * FROM quotas WHERE quota > $1 AND ($2::bigint IS NULL OR banned_until > $2)
             ORDER BY quota LIMIT ${atOnce}`,
            ...[after, bannedAfterMs],
          )
          if (rows.length === 0) return
          yield rows.map(({ quota, state, kept_until, banned_until }) => ({
            ...{ quota: unpacked(quota), state: unpacked(state) },
            ...{ keptUntilMs: Number(kept_until), bannedUntilMs: Number(banned_until) },
          }))
          after = String(rows.at(-1)?.['quota'])
        }
      },
    },
    shelves,
  )
}

type Read = [state: string | undefined, nowMs: number]
