import { request as open } from 'node:http'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { Blocks, contentFrom } from '../../../gateway/office/operations/content.ts'
import { startAdmin, type AdminOptions } from '../../support/admin.ts'
import { json } from '../../support/http.ts'
import { token } from '../../support/operator.ts'
import { seeded } from '../../support/seeded.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const csv = { 'content-type': 'text/csv' }

const tokenOf = (name: string, i: number): string => `${name}-token-${i}`

const rowsOf = (name: string, count: number): string =>
  Array.from({ length: count }, (_, i) => `${tokenOf(name, i)},free,${name} ${i}\n`).join('')

const fileOf = (name: string, count: number): string => `token,plan,name\n${rowsOf(name, count)}`

/** A gateway with a thread, over a store of a kind. */
async function startImporting(
  t: Test,
  kind: 'embedded' | 'redis',
  thread: AdminOptions['thread'] = {},
) {
  const store = kind === 'redis' ? { store: `redis: '${(await startRedis(t)).url}'` } : {}
  const at = await startAdmin(t, { ...store, thread })
  const call = (token: string) =>
    at.gateway.call('GET', '/v1/pets', undefined, { authorization: `Bearer ${token}` })
  const add = (text: string) => at.ask('POST', '/admin/keys/import', text, csv)
  return { ...at, call, add }
}

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`${kind}: keys that the thread has imported are keys at once`, async (t) => {
    const { ask, add, call } = await startImporting(t, kind)
    for (const [round, count] of [1, 700, 3_000].entries()) {
      const name = `round${round}`
      t.equal((await call(tokenOf(name, count - 1))).status, 401)
      t.strictSame(json(await add(fileOf(name, count))), { imported: count })
      t.equal((await call(tokenOf(name, count - 1))).status, 200, `${count} keys`)
      t.equal((await call(tokenOf(name, 0))).status, 200)
    }
    const audit = await ask('GET', '/admin/audit')
    t.match(json(audit), [{ what: 'keys.import', by: 'admin', after: { imported: 3_000 } }])
    const twice = await add(fileOf('round0', 1))
    t.equal(twice.status, 400)
    t.match(twice.text, 'Line 2: this token is in the store already.')
    t.strictSame(json(await add(`\ufeff${fileOf('marked', 2)}`)), { imported: 2 })
  })
}

t.test('a body may be cut anywhere, and what isn’t UTF-8 changes nothing', async (t) => {
  const { ask, url, call } = await startImporting(t, 'embedded')
  const send = async (bytes: Buffer): Promise<number> => {
    const headers = { authorization: `Bearer ${token}`, ...csv }
    const sent = open(`${url}/admin/keys/import`, { method: 'POST', headers })
    for (const byte of bytes) sent.write(Buffer.of(byte))
    sent.end()
    return new Promise((resolve, reject) => {
      sent.once('error', reject)
      sent.once('response', (answer) => resolve(answer.resume().statusCode ?? 0))
    })
  }
  const text = Buffer.from('token,plan,name\ncut-anywhere,free,Zoë 🐈\n')
  t.equal(await send(text), 200)
  t.equal((await call('cut-anywhere')).status, 200)
  t.match(json(await ask('GET', '/admin/keys')), [{ name: 'Zoë 🐈' }])
  const cut = Buffer.from('token,plan,name\nnot-in-utf-8,free,Zoë\n', 'latin1')
  t.equal(await send(cut), 400)
  t.equal(await send(text.subarray(0, text.length - 2)), 400, 'the last character is cut')
  t.equal((await call('not-in-utf-8')).status, 401)
})

t.test('however a text is cut, its bytes take as few blocks, and its pieces are its text', (t) => {
  const below = seeded(7)
  for (let round = 0; round < 40; round++) {
    const length = below(300_000)
    const text = Array.from({ length: length / 8 }, () =>
      below(10) < 9 ? 'a line\n' : '🐈é',
    ).join('')
    const bytes = Buffer.from(text)
    const most = [1, 700, 65_536, 200_000][round % 4] ?? 1
    const blocks = new Blocks()
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + below(most)
      blocks.add(bytes.subarray(at, end))
      at = end
    }
    const { read, pieces = () => [] } = contentFrom('body', blocks.end().all)
    t.ok(read() === text && [...pieces()].join('') === text, `${bytes.length} bytes, seed 7`)
    t.ok(blocks.all.length <= 1 + Math.ceil(bytes.length / 65_536))
  }
  t.end()
})

t.test('reports don’t wait for an import, and it is done though its client leaves', async (t) => {
  const { ask, add, url, call, gateway } = await startImporting(t, 'embedded')
  const count = 20_000
  const leaving = new AbortController()
  const headers = { authorization: `Bearer ${token}`, ...csv }
  const body = fileOf('left', count)
  const left = request(`${url}/admin/keys/import`, {
    method: 'POST',
    headers,
    body,
    signal: leaving.signal,
  })
  const file = new Database(gateway.config.store.file ?? '', { readonly: true })
  t.teardown(() => file.close())
  const running = file.prepare('SELECT owner FROM imports')
  await until(() => running.get() !== undefined)
  t.equal((await ask('POST', '/admin/plans/free/preview', { perDay: 2 })).status, 200)
  const another = await add(fileOf('another', 1))
  t.equal(another.status, 409)
  t.match(another.text, 'Keys import is running already; try again when it is over.')
  t.ok(running.get(), 'the import goes on')
  leaving.abort()
  await t.rejects(left)
  await until(async () => (await call(tokenOf('left', count - 1))).status === 200)
})

t.test(
  'a change is made to its end, whatever ends the thread: a late report, a close',
  async (t) => {
    const { ask, add, call, gateway, stop } = await startImporting(t, 'embedded', { limitMs: 1 })
    const file = new Database(gateway.config.store.file ?? '', { readonly: true })
    t.teardown(() => file.close())
    const running = file.prepare('SELECT owner FROM imports')
    // It ends with the import, if it has no answer by then.
    const report = async (): Promise<void> => {
      const { status } = await ask('POST', '/admin/plans/free/preview', { perDay: 2 })
      t.ok(status === 200 || status === 503, `a report: ${status}`)
    }
    for (const [name, end] of [
      ['late', report],
      ['closed', stop],
    ] as const) {
      const made = add(fileOf(name, 20_000))
      await until(() => running.get() !== undefined)
      const ended = end()
      t.strictSame(json(await made), { imported: 20_000 }, name)
      await ended
      t.equal((await call(tokenOf(name, 19_999))).status, 200)
    }
  },
)
