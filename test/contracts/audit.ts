import type { Test } from 'tap'
import { auditStart } from '../../gateway/front/records/audit-list.ts'
import type { AuditEntry, AuditStore } from '../../gateway/front/records/audit-store.ts'

/** The contract of `AuditStore`. It runs with two views of each technology's lists. */
export function auditStoreContract(
  t: Test,
  name: string,
  open: (t: Test) => Promise<Readonly<{ first: AuditStore; second: AuditStore }>>,
): Promise<unknown> {
  return t.test(`an audit: ${name}`, async (t) => {
    const { first, second } = await open(t)
    const entry = (atMs: number, more: Partial<AuditEntry> = {}): AuditEntry => {
      const change = { what: 'keys.change', subject: 'a', before: { plan: 'free' }, after: null }
      return { atMs, by: 'Ünï "quoted"\n', ...change, ...more }
    }
    const everything = { fromMs: 0, limit: 10_000 }

    t.strictSame(await first.list(everything), [])
    const beginning = await first.since()
    t.strictSame(beginning.entries, [])

    const [one, three] = [entry(1_000), entry(2_000)]
    const two = entry(2_000, { subject: 'b', what: 'config.reload' })
    for (const [cursor, each] of [one, two, three].entries()) {
      await (cursor % 2 ? second : first).add(each)
    }
    t.strictSame(await second.list(everything), [three, two, one], 'the newest first')
    t.strictSame(await first.list({ ...everything, limit: 2 }), [three, two])
    t.strictSame(await first.list({ ...everything, subject: 'b' }), [two])
    t.strictSame(await first.list({ ...everything, subject: 'c' }), [])
    t.strictSame(await first.list({ ...everything, fromMs: 1_001 }), [three, two])
    t.strictSame(await first.list({ fromMs: 2_000, limit: 1, subject: 'a' }), [three])

    t.strictSame(await first.list({ ...everything, toMs: 1_999 }), [one])
    t.strictSame(await first.list({ ...everything, toMs: 2_000, limit: 1 }), [three])
    t.strictSame(await first.list({ ...everything, what: 'config.' }), [two])
    t.strictSame(await first.list({ ...everything, what: 'config.', subject: 'a' }), [])
    t.strictSame(await first.list({ ...everything, what: 'onfig.' }), [], 'the beginning counts')

    const added = await second.since(beginning.cursor)
    t.strictSame(added.entries, [one, two, three], 'what was added since, the oldest first')
    t.strictSame(await first.since(added.cursor), { entries: [], cursor: added.cursor })
    t.strictSame((await second.since(auditStart)).entries, [one, two, three], 'from the start')
    t.strictSame((await first.since()).entries, [], 'and nothing without a cursor')
    t.equal((await first.since()).cursor, added.cursor)

    const inAct = (keys: number, more = {}): AuditEntry => {
      const act = { id: 'act', keys, names: ['A', 'B'].slice(0, keys) }
      return entry(2_500, { what: 'keys.revoke', subject: `k${keys}`, act, ...more })
    }
    const acts = [inAct(1), entry(2_500), inAct(2)]
    for (const each of acts) await first.add(each)
    const ofActs = { ...everything, fromMs: 2_500 }
    t.strictSame(await second.list(ofActs), [acts[2], acts[1]], 'an act by its latest entry')
    t.strictSame(await second.list({ ...ofActs, subject: 'k1' }), [acts[0]], 'or one of its keys')
    const { cursor: afterActs } = await first.since()

    const many = Array.from({ length: 1_300 }, (_, i) => entry(3_000 + i, { subject: `s${i % 2}` }))
    for (const each of many) await first.add(each)
    const found = await second.list({ ...everything, subject: 's1' })
    t.strictSame(
      found,
      many.filter(({ subject }) => subject === 's1').reverse(),
      'more than are read at a time',
    )
    const ofConfig = await second.list({ ...everything, limit: 1, what: 'config.' })
    t.strictSame(ofConfig, [two], 'however many others came later')
    const read: AuditEntry[] = []
    for (let { entries, cursor } = await second.since(afterActs); entries.length > 0;) {
      read.push(...entries)
      ;({ entries, cursor } = await second.since(cursor))
    }
    t.strictSame(read, many)
  })
}
