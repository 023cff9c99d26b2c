import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../../support/command.ts'
import { startGateway, type Gateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { startOnOneStore } from '../../support/one-store.ts'
import { statusAndRate } from '../../support/rates.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const start = Date.UTC(2026, 5, 20, 12)
const day = 86_400_000
const seconds = (...date: [number, number, number]): number => Date.UTC(...date) / 1_000

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`the months of a quota begin on the day that was agreed: ${kind}`, async (t) => {
    let now = start
    const { ask, all, gateway, redis, file } = await startOnOneStore(t, kind, () => now)
    const limits = { perMonth: 5 }
    const [one, two] = [
      await gateway.key({ account: 'acme', limits }),
      await gateway.key({ account: 'acme', limits }),
    ]
    const path = `/admin/quota/${one.key.id}/month`
    const get = (at: Gateway, { headers } = two) => at.call('GET', '/v1/pets', undefined, headers)
    const month = async (at: Gateway): Promise<unknown> =>
      json(await at.call('GET', '/v1/quota', undefined, two.headers))['month']
    for (let i = 0; i < 5; i++) t.equal((await get(gateway)).status, 200)
    for (const at of all) {
      t.match(statusAndRate(await get(at)), { status: 429, limit: 5 })
      t.strictSame(await month(at), { limit: 5, remaining: 0, reset: seconds(2026, 6, 1) })
    }
    t.equal(json(await ask('GET', `/admin/quota/${one.key.id}`))['monthFrom'], undefined)

    for (const [body, sentence] of [
      [{}, /monthFrom/],
      [{ monthFrom: 0 }, /monthFrom must be a whole number from 1 to 28/],
      [{ monthFrom: 29 }, /monthFrom must be a whole number from 1 to 28/],
      [{ monthFrom: 1.5 }, /monthFrom must be a whole number from 1 to 28/],
      [{ monthFrom: '15' }, /monthFrom must be a whole number from 1 to 28/],
    ] as const) {
      t.match(json(await ask('POST', path, body)), { status: 400, message: sentence })
    }
    t.match(statusAndRate(await get(gateway)), { status: 429 }, 'nothing has changed')

    const moved = json(await ask('POST', path, { monthFrom: 15 }))
    const reset = seconds(2026, 6, 15)
    t.match(moved, {
      monthFrom: 15,
      month: { limit: 5, remaining: 5, used: 0, reset },
      day: { used: 5 },
    })
    for (const at of all) {
      await until(async () => (await get(at, one)).status === 200)
      t.match(await month(at), { reset })
    }
    t.match(json(await ask('GET', `/admin/keys/${two.key.id}`)), { standing: { monthFrom: 15 } })
    const before = json(await ask('GET', `/admin/quota/${one.key.id}`))
    t.strictSame(json(await ask('POST', path, { monthFrom: 15 })), before, 'so it is already')
    const lines = json(await ask('GET', '/admin/audit')) as unknown as { what: string }[]
    const [quota, subject] = ['account:acme', one.key.id]
    t.match(
      lines.filter(({ what }) => what === 'quota.month'),
      [{ subject, before: { quota, monthFrom: 1 }, after: { quota, monthFrom: 15 } }],
      'one line, with before and after',
    )

    now = Date.UTC(2026, 6, 15) - 1
    while ((await get(gateway)).status === 200);
    t.match(statusAndRate(await get(gateway)), { status: 429, limit: 5 }, 'the last millisecond')
    now++
    t.match(statusAndRate(await get(gateway)), { status: 200, remaining: 4 })
    t.match(await month(gateway), { reset: seconds(2026, 7, 15) })

    const unused = await ask('POST', '/admin/keys', { name: 'New', plan: 'free', monthFrom: 9 })
    const ofUnused = `/admin/keys/${String(json(unused)['id'])}`
    t.match(json(await ask('GET', ofUnused)), { standing: { monthFrom: 9 } }, 'without a use')

    if (redis) {
      const ttl = await redis.client.pttl('tollgate:quota:account:acme')
      t.ok(ttl > 3_000 * day, 'a quota that nobody uses for months doesn’t forget its day')
      return
    }
    now = Date.now()
    const args = ['--config', file]
    const again = await runCommand(
      ['quota', 'month', one.key.id, '--from', '28', '--by', 'eve', ...args],
      {},
    )
    t.match(again, { code: 0, out: /begin on day 28, .*shares one quota with 1 other key of the/s })
    const same = await runCommand(['quota', 'month', two.key.id, '--from', '28', ...args], {})
    t.match(same, { code: 0, out: /begin on day 28 already; nothing has changed\./ })
    const wrong = await runCommand(['quota', 'month', one.key.id, '--from', '31', ...args], {})
    t.match(wrong, { code: 2, out: /--from must be a whole number from 1 to 28/ })
    const shown = await runCommand(['quota', 'show', one.key.id, ...args], {})
    t.match(shown.out, /Its months begin on day 28\./)
    t.match((await runCommand(['keys', 'show', one.key.id, ...args], {})).out, /begin on day 28\n/)
    t.match(
      (await runCommand(['audit', ...args], {})).out,
      /eve.*moved the billing day of “.*” from 15 to 28/,
    )
    await until(async () => {
      const { headers } = await get(gateway)
      return headers['x-ratelimit-remaining'] === '4'
    })
  })
}

t.test('a quota that nobody used for months knows its day after a restart', async (t) => {
  let now = start
  const store = `file: ${join(folderOf(t), 'gateway.db')}`
  const options = { store, clock: () => now }
  let headers = {}
  await t.test('before it', async (t) => {
    const before = await startGateway(t, options)
    const one = await before.key({ limits: { perMonth: 5 } })
    ;({ headers } = one)
    await before.stores.quota.setMonthFrom(`key:${one.key.id}`, 15)
    t.equal((await before.call('GET', '/v1/pets', undefined, headers)).status, 200)
  })
  now += 100 * day
  await t.test('long after', async (t) => {
    const other = await startGateway(t, options)
    const { headers } = await other.key()
    t.equal((await other.call('GET', '/v1/pets', undefined, headers)).status, 200)
  })
  const after = await startGateway(t, options)
  const quota = json(await after.call('GET', '/v1/quota', undefined, headers))
  t.match(quota['month'], { remaining: 5, reset: seconds(2026, 9, 15) })
})

t.test('keys are made and changed with the day of their months', async (t) => {
  let now = start
  const { ask, gateway, file } = await startOnOneStore(t, 'embedded', () => now)
  const limits = { perMonth: 5 }
  const made = json(await ask('POST', '/admin/keys', { name: 'A', plan: 'free', monthFrom: 9 }))
  const path = `/admin/keys/${String(made['id'])}`
  t.match(json(await ask('GET', path)), { standing: { monthFrom: 9 } })
  const { headers } = await gateway.key({ account: 'acme', limits })
  t.equal((await gateway.call('GET', '/v1/pets', undefined, headers)).status, 200)
  const change = { account: 'acme', limits, monthFrom: 10 }
  t.match(json(await ask('PATCH', path, change)), {
    account: 'acme',
    standing: { quota: 'account:acme', monthFrom: 10, month: { used: 0 }, day: { used: 1 } },
  })
  t.match(json(await ask('PATCH', path, { account: null })), { standing: { monthFrom: 9 } })
  t.match(json(await ask('PATCH', path, { monthFrom: 1 })), {
    standing: { monthFrom: undefined },
  })
  t.match(json(await ask('PATCH', path, { monthFrom: 29 })), { status: 400 })
  t.match(json(await ask('PATCH', '/admin/keys', { account: 'acme', monthFrom: 2 })), {
    status: 400,
    message: /monthFrom/,
  })
  const changes = json(await ask('GET', '/admin/audit')) as unknown as { what: string }[]
  t.equal(changes.filter(({ what }) => what === 'keys.change').length, 2, 'none of the month alone')

  now = Date.now()
  const run = (...args: string[]) => runCommand([...args, '--config', file], {})
  const name = ['--name', 'B', '--plan', 'free', '--account', 'acme']
  const { out } = await run('keys', 'create', ...name, '--month-from', '12')
  t.match(out, /shares one quota with 1 other key.*Its months begin on day 12, at midnight/s)
  const test = ['--name', 'C', '--plan', 'free', '--account', 'acme', '--test', '--month-from', '3']
  t.match(
    (await run('keys', 'create', ...test)).out,
    /quota of its own\.\nIts months begin on day 3,/,
  )
  t.match((await run('quota', 'show', 'B')).out, /begin on day 12\./, 'the account’s stays')
  const changed = await run('keys', 'change', 'B', '--month-from', '13')
  t.match(
    changed.out,
    /shares one quota .*Its months begin on day 13, .*Nothing of the present month is used yet/s,
  )
  for (const args of [
    ['keys', 'change', '--account', 'acme', '--month-from', '2', '--yes'],
    ['keys', 'change', 'B', '--month-from', '2', '--dry-run'],
  ]) {
    t.match(await run(...args), { code: 2, out: /the months belong to one quota: name a KEY/ })
  }
})

t.test('a key whose month can’t be set is made all the same, and its token shown', async (t) => {
  const { ask, gateway } = await startOnOneStore(t, 'embedded', () => start)
  gateway.stores.quota.setMonthFrom = () => Promise.reject(new Error('the disk is full'))
  const made = json(await ask('POST', '/admin/keys', { name: 'A', plan: 'free', monthFrom: 9 }))
  t.match(made, {
    key: /^tg_/,
    warnings: [
      /could not be set \(the disk is full\): tollgate quota month \w{12} --from 9 does it/,
    ],
  })
  const headers = { authorization: `Bearer ${String(made['key'])}` }
  t.equal((await gateway.call('GET', '/v1/pets', undefined, headers)).status, 200)
})
