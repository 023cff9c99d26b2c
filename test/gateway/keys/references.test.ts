import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { logged, said } from '../../support/logs.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`the backend and reports know a key’s reference: ${kind}`, async (t) => {
    const redis = kind === 'redis' ? await startRedis(t) : undefined
    const upstream = await startUpstream(t)
    const { log, output } = logged()
    const store = redis && { store: `redis: "${redis.url}"` }
    const { ask, file, gateway } = await startAdmin(t, { upstream, log, ...store })
    const run = (...words: string[]) => runCommand([...words, '--config', file], {})
    const runJson = async (...words: string[]): Promise<unknown> =>
      JSON.parse((await run(...words, '--json')).stdout)
    const create = ['keys', 'create', '--plan', 'free', '--name', 'A']
    const made = await runJson(...create, '--account', 'acme', '--reference', 'cus_1')
    const { id, key: token } = made as { id: string; key: string }
    const call = async (by: string) => {
      const headers = { authorization: `Bearer ${by}` }
      const { status } = await gateway.call('GET', '/v1/pets', undefined, headers)
      return [status, upstream.seen.at(-1)?.headers['x-caller-reference']]
    }
    t.strictSame(await call(token), [200, 'cus_1'])
    await until(() => output().includes('cus_1'))
    t.match(said(output(), '"reference":"cus_1"'), [{ key: id, reference: 'cus_1' }])

    const rotated = json(await ask('POST', `/admin/keys/${id}/rotate`, { overlap: '0' }))
    await until(async () => (await call(String(rotated['key'])))[1] === 'cus_1')
    t.match(json(await ask('GET', '/admin/keys?reference=cus_1')), [{ id }])
    t.strictSame(json(await ask('GET', '/admin/keys?reference=cus')), [])
    t.match(await runJson('keys', 'list', '--reference', 'cus_1'), [{ id }])
    t.match(await run('keys', 'find', '--reference', 'cus_1'), { code: 0, out: /ACME|acme/ })
    t.match(await runJson('keys', 'find', '--reference', 'cus_1'), [{ id }])
    t.match(await run('keys', 'find', '--reference', 'x'), { code: 0, out: /No key matches/ })
    const other = await ask('POST', '/admin/keys', {
      plan: 'free',
      name: 'B',
      account: 'acme',
      reference: 'cus_2',
    })
    t.strictSame(await call(String(json(other)['key'])), [200, 'cus_2'])
    await gateway.app.front.flushCounts()
    t.match((await run('usage', 'export', '--csv')).stdout, /,"cus_(?:1 cus_2|2 cus_1)"\s*$/)
    const lines = (await runJson('usage', 'export', '--by', 'key')) as { reference?: string }[]
    t.strictSame(lines.flatMap(({ reference = [] }) => reference).sort(), ['cus_1', 'cus_2'])

    const change = await ask('PATCH', `/admin/keys/${id}`, { reference: null })
    t.notOk('reference' in json(change))
    await until(async () => (await call(String(rotated['key'])))[1] === undefined)
    t.match(await run('keys', 'change', id, '--reference', 'cus_3'), {
      code: 0,
      out: /^reference: +cus_3$/m,
    })
    t.match(await run('audit', '--key', id), {
      out: /reference cus_1 → none[^]*|reference none → cus_3/,
    })
    t.match(await run('keys', 'change', id, '--reference', ''), { code: 0 })
    t.notMatch((await run('keys', 'show', id)).out, /reference/)
    for (const wrong of ['a b', 'ü', 'x'.repeat(129), '\u0007']) {
      t.match(await run(...create, '--reference', wrong), {
        code: 1,
        out: /a reference must be 1 to 128 printable/,
      })
      t.equal(
        (await ask('POST', '/admin/keys', { plan: 'free', name: 'X', reference: wrong })).status,
        400,
      )
    }
    const csv =
      'token,plan,name,reference,perDay\nan-older-token-1,free,One,cus_9,120..200%\nan-older-token-2,free,Two,,\n'
    t.equal(
      (await ask('POST', '/admin/keys/import', csv, { 'content-type': 'text/csv' })).status,
      200,
    )
    t.strictSame(await call('an-older-token-1'), [200, 'cus_9'])
    t.strictSame(await call('an-older-token-2'), [200, undefined])
    t.match((await run('keys', 'show', 'One')).out, /of 120 included, metered up to 240 \(its own/)
    t.match(
      (await run('keys', 'list', '--csv')).stdout,
      /,"reference","scopes","origins"\r\n[^]*"One"[^\n]*"cus_9","",""\r?\n/,
    )
  })
}
