import t from 'tap'
import { markOf } from '../../../gateway/front/keys/last-use-store.ts'
import { dayMs } from '../../../shared/windows.ts'
import { newKey } from '../../contracts/keys.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { json } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'

type Page = Readonly<{
  keys: readonly { name: string; admittedToday: number; refusedToday: number }[]
  next: string | null
}>

/** Requests of today, and the minutes since the last one, by the names of keys. */
const uses: Readonly<Record<string, readonly [admitted: number, refused: number, ago: number]>> = {
  anna: [5, 40, 9],
  Bert: [500, 0, 3],
  cleo: [5, 7, 1],
  dora: [0, 0, 0],
  emil: [70, 7, 5],
}

const orders = {
  use: ['Bert', 'emil', 'anna', 'cleo', 'dora'],
  refusals: ['anna', 'cleo', 'emil', 'Bert', 'dora'],
  recent: ['cleo', 'Bert', 'emil', 'anna', 'dora'],
}

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`${kind}: keys are listed by use, refusals and last use, and as CSV`, async (t) => {
    const redis = kind === 'redis' ? await startRedis(t) : undefined
    const store = redis && { store: `redis: "${redis.url}"` }
    const { gateway, ask, file } = await startAdmin(t, { thread: {}, ...store })
    const { keys: store_, tallies, lastUses } = gateway.stores
    const keys = Object.keys(uses).map((name) => newKey({ name, note: `=${name}` }))
    await store_.add([...keys, newKey({ name: 'Away', revokedAtMs: 1 })])
    const nowMs = Date.now()
    const day = Math.floor(nowMs / dayMs)
    const lines = keys.flatMap(({ id, name }) => {
      const [admitted = 0, refused = 0] = uses[name] ?? []
      const of = { day, key: id, lastMs: 0 }
      return [
        { ...of, what: 'admitted 2xx', count: Math.ceil(admitted / 2) },
        { ...of, what: 'admitted 5xx', count: Math.floor(admitted / 2) },
        { ...of, what: 'refused rate_limit_exceeded minute', count: refused },
        { ...of, what: 'points more', count: 1_000 },
        { ...of, day: day - 1, what: 'admitted 2xx', count: 9_999 - admitted },
      ].filter(({ count }) => count > 0)
    })
    await tallies.add({ by: 'test', number: 1, lines })
    const used = keys.filter(({ name }) => name !== 'dora')
    const noted = used.map(({ id, name, secrets: [secret] }) => {
      const [, , ago = 0] = uses[name] ?? []
      return { key: id, mark: markOf(secret?.hash ?? ''), atMs: nowMs - ago * 60_000 }
    })
    await lastUses.note(noted, nowMs)

    for (const [order, names] of Object.entries(orders)) {
      const seen: string[] = []
      let after = ''
      for (let pages = 1; pages <= 3; pages++) {
        const answer = await ask('GET', `/admin/keys?sort=${order}&limit=2&after=${after}`)
        const { keys, next } = json(answer) as unknown as Page
        for (const { name, admittedToday, refusedToday } of keys) {
          t.strictSame([admittedToday, refusedToday], uses[name]?.slice(0, 2), name)
          seen.push(name)
        }
        t.equal(next === null, pages === 3, 'the last page is told')
        after = next ?? ''
      }
      t.strictSame(seen, names, order)
    }

    const first = json(await ask('GET', '/admin/keys?sort=use&limit=2')) as unknown as Page
    for (const sort of ['', 'recent']) {
      const answer = await ask('GET', `/admin/keys?sort=${sort}&limit=2&after=${first.next}`)
      t.match(answer, { status: 400, text: /cursor is of another order/ })
    }
    for (const after of ['use.1.x', `size.1${first.next?.slice(5)}`, `use.${first.next}`]) {
      const answer = await ask('GET', `/admin/keys?sort=use&after=${after}`)
      t.match(answer, { status: 400, text: /after must be the \\"next\\" of a page/ }, after)
    }
    t.match(await ask('GET', '/admin/keys?sort=name'), {
      status: 400,
      text: /sort must be use, refusals or recent/,
    })

    const run = async (...words: string[]) =>
      (await runCommand(['keys', 'list', ...words, '--config', file], {})).stdout
    t.match(
      await run('--sort', 'refusals', '--limit', '1'),
      /anna +.* 40 .*\n\n.*--after refusals\./s,
    )
    const csv = { accept: 'text/csv' }
    const all = await ask('GET', '/admin/keys', undefined, csv)
    t.equal(all.headers['content-type'], 'text/csv; charset=utf-8')
    t.strictSame(all.text.split('\r\n').sort(), (await run('--csv')).trimEnd().split('\r\n').sort())
    t.equal(all.text.split('\r\n').length, 6, 'a line of names, and revoked keys are left out')
    t.match(all.text, /"emil","free","","active","70","7","","20.*"'=emil"/, 'no formula')
    const page = await ask('GET', '/admin/keys?sort=use&limit=1', undefined, csv)
    t.match(page.text, /^"id",.*\r\n"\w+","Bert",[^\r]*$/)
    const none = await ask('GET', '/admin/keys?search=nobody', undefined, csv)
    t.match(none.text, /^"id",[^\r]*$/)
  })
}
