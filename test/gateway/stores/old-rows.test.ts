import t, { type Test } from 'tap'
import { peaksOn } from '../../../gateway/front/counts/peak-store.ts'
import { rememberedDays, talliesOn } from '../../../gateway/front/counts/tally-store.ts'
import { keptMinutes, timelineOn } from '../../../gateway/front/counts/timeline-store.ts'
import { keptMs } from '../../../gateway/front/records/notice-store.ts'
import { embeddedCounts } from '../../../gateway/front/stores/embedded/counts.ts'
import { openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { noticeList } from '../../../gateway/front/records/notices-on.ts'
import { embeddedDocuments } from '../../../gateway/front/stores/embedded/documents.ts'
import { embeddedLists } from '../../../gateway/front/stores/embedded/lists.ts'
import { quotaFile } from '../../../gateway/front/stores/embedded/quota-file.ts'
import { peak } from '../../support/filled-store.ts'

const day = 20_000
const old = 1_300

/** A file, the number of rows of a table there, and what puts many rows into one. */
function fileOf(t: Test) {
  const database = openGatewayFile(':memory:')
  t.teardown(() => database.close())
  const count = (table: string) =>
    Number(database.prepare(`SELECT count(*) FROM ${table}`).pluck().get())
  const fill = (table: string, row: (i: number) => readonly (number | string | Buffer)[]) => {
    for (let i = 0; i < old; i++) {
      const values = row(i)
      const marks = values.map(() => '?').join(', ')
      database.prepare(`INSERT INTO ${table} VALUES (${marks})`).run(values)
    }
  }
  return { database, count, fill }
}

/** Does something four times; tells how many rows are left in a table after each. */
async function leftAfterEach(count: () => number, act: (i: number) => unknown): Promise<number[]> {
  const left: number[] = []
  for (let i = 1; i <= 4; i++) {
    await act(i)
    left.push(count())
  }
  return left
}

t.test('what has become too old goes some rows at a time, and the rest stays', async (t) => {
  t.test('tallies', async (t) => {
    const { database, count, fill } = fileOf(t)
    fill('counts_tallies', (i) => [day, `key-${i}`, 'admitted 2xx', 1, 5])
    const store = talliesOn(embeddedCounts(database))
    const line = { day: day + rememberedDays, key: 'a', what: 'admitted 2xx', count: 1, lastMs: 9 }
    const kept = { ...line, day: day + 1 }
    const add = (number: number) => store.add({ by: 'g', number, lines: [line, kept] })
    t.strictSame(await leftAfterEach(() => count('counts_tallies'), add), [802, 302, 2, 2])
  })

  t.test('peaks, then the names of quotas that have none', async (t) => {
    const { database, count } = fileOf(t)
    const store = peaksOn(embeddedCounts(database))
    const quotas = Array.from({ length: old }, (_, i) => peak(`q${i}`, { day }))
    await store.add({ by: 'g', number: 1, lines: quotas })
    const lines = [peak('q7', { day: day + 1 }), peak('new', { day: day + rememberedDays })]
    const add = (i: number) => store.add({ by: 'g', number: 1 + i, lines })
    t.strictSame(await leftAfterEach(() => count('counts_peaks'), add), [802, 302, 2, 2])
    const names = await leftAfterEach(
      () => count('counts_peaks_keys'),
      (i) => add(4 + i),
    )
    t.strictSame(names, [552, 302, 52, 2], 'the first ones went with the last peaks')
    const left = database.prepare('SELECT key FROM counts_peaks_keys ORDER BY id').pluck().all()
    t.strictSame(left, ['q7', 'new'])
  })

  t.test('refusals of keys', async (t) => {
    const { database, count, fill } = fileOf(t)
    fill('counts_timeline', (i) => [1_000, `key-${i}`, 'RATE_LIMITED minute', 1, 5, 5])
    const store = timelineOn(embeddedCounts(database))
    const minute = 1_001 + keptMinutes
    const line = { key: 'a', minute, code: 'RATE_LIMITED', reason: 'minute', count: 1 }
    const add = (number: number) =>
      store.add({ by: 'g', number, lines: [{ ...line, limit: 5, used: 5 }] })
    t.strictSame(await leftAfterEach(() => count('counts_timeline'), add), [801, 301, 1, 1])
  })

  t.test('quotas and commands, until none is left', async (t) => {
    const { database, count, fill } = fileOf(t)
    fill('quotas', (i) => [`q${i}`, 5, ''])
    fill('commands', (i) => [i + 1, 5, 'reset', `q${i}`, 'k', 0])
    const nowMs = 10 * 86_400_000
    database.prepare('INSERT INTO quotas VALUES (?, ?, ?)').run('kept', nowMs + 1, '')
    const file = quotaFile(database)
    file.enqueue({ what: 'reset', quota: 'kept', key: 'k', untilMs: 0 }, nowMs)
    const more: boolean[] = []
    const forget = () => more.push(file.forget(0, nowMs))
    const left = await leftAfterEach(() => count('quotas'), forget)
    t.strictSame([left, count('commands')], [[801, 301, 1, 1], 1])
    t.strictSame(more, [true, true, false, false])
  })

  t.test('entries of lists, and documents', async (t) => {
    const { database, count, fill } = fileOf(t)
    fill('list_notices', (i) => [i + 1, 5, '', `old-${i}`])
    fill('documents', (i) => ['told', `old-${i}`, 1, 5, Buffer.alloc(0)])
    const lists = embeddedLists(database, () => keptMs + 10)
    const entries = await leftAfterEach(
      () => count('list_notices'),
      () => lists.add(noticeList, [{ key: '', body: 'new' }]),
    )
    t.strictSame(entries, [801, 302, 3, 4])
    const documents = embeddedDocuments(database, () => keptMs + 10)
    const left = await leftAfterEach(
      () => count('documents'),
      (i) => documents.put('told', `new-${i}`, '', { keptMs: 60_000 }),
    )
    t.strictSame(left, [801, 302, 3, 4])
  })
})
