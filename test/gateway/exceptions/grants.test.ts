import { join } from 'node:path'
import t from 'tap'
import { desksFor } from '../../../gateway/office/operations/desks.ts'
import { runCommand } from '../../support/command.ts'
import { startGateway, type Gateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { startOnOneStore } from '../../support/one-store.ts'
import { statusAndRate } from '../../support/rates.ts'
import { until as untilTrue } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const noon = Date.UTC(2026, 5, 15, 12)
const day = 86_400_000

t.test(
  'a grant holds while Redis is out of reach, and after a restart, and ends with its day',
  async (t) => {
    const start = Date.UTC(2026, 5, 15, 12, 0, 30)
    let now = start
    const { gateway, ask, all, redis } = await startOnOneStore(t, 'redis', () => now)
    const { key, headers } = await gateway.key()
    await ask('POST', `/admin/quota/${key.id}/grant`, { perDay: 50, note: 'x' })
    const quota = async (at: Gateway) => json(await at.call('GET', '/v1/quota', undefined, headers))
    for (const each of all) {
      await untilTrue(async () => JSON.stringify(await quota(each)).includes('1050'))
    }
    await redis?.kill()
    for (const each of all) {
      t.match(await quota(each), { minute: { limit: 60 }, day: { limit: 1050 } })
      each.app.front.quotas.noteTime(start + day)
      t.match(await quota(each), { minute: { limit: 60 }, day: { limit: 1000 } })
    }

    await t.test('a restart', async (t) => {
      const store = `file: ${join(folderOf(t), 'gateway.db')}`
      const options = { store, clock: () => now }
      let headers = {}
      const quota = async ({ call }: Gateway) =>
        json(await call('GET', '/v1/quota', undefined, headers))
      const granted = { plan: 'pro', minute: { limit: 305 }, day: { limit: 10_050 } }
      await t.test('before it', async (t) => {
        const before = await startGateway(t, options)
        const one = await before.key()
        ;({ headers } = one)
        const { config } = before
        const desk = desksFor({ ...config, stores: before.stores, clock: () => now, by: 'x' })
        const edit = desk.keys.changing({ plan: 'pro' })
        await desk.keys.edit(one.key.id, edit)
        await desk.quotas.grant(one.key.id, { perDay: 50, perMinute: 5 })
        await untilTrue(async () => (await quota(before))['plan'] === 'pro')
        t.match(await quota(before), granted)
      })
      const after = await startGateway(t, options)
      t.match(await quota(after), granted)
      now = start + day
      t.match(await quota(after), { plan: 'pro', minute: { limit: 300 }, day: { limit: 10_000 } })
    })
  },
)

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`a grant lets exactly so many more in, until its day ends: ${kind}`, async (t) => {
    let now = noon
    const { ask, all, gateway, file } = await startOnOneStore(t, kind, () => now, 4)
    const account = { account: 'acme', plan: 'daily' }
    const [one, two] = [await gateway.key(account), await gateway.key(account)]
    const path = `/admin/quota/${one.key.id}/grant`
    const get = (at: Gateway, { headers } = two) => at.call('GET', '/v1/pets', undefined, headers)
    /** Asks all gateways at once, 60 times in all; gives the number that was let in. */
    const flood = async (): Promise<number> => {
      const times = 60 / all.length
      const asked = all.flatMap((at) => Array.from({ length: times }, () => get(at)))
      const answers = await Promise.all(asked)
      return answers.filter(({ status }) => status === 200).length
    }
    let admitted = 0
    while (admitted < 200) admitted += await flood()
    t.equal(admitted, 200)
    t.match(statusAndRate(await get(gateway)), { status: 429, limit: 200 })
    const granted = json(await ask('POST', path, { perDay: 60, note: 'a job' }))
    const first = { day: '2026-06-15', perDay: 60, perMinute: null, by: 'admin', note: 'a job' }
    t.match(granted, { day: { limit: 260, remaining: 60, used: 200 }, grants: [first] })
    const second = { ...first, perDay: 40, note: null }
    const both = json(await ask('POST', path, { perDay: 40 }))
    t.strictSame(both['grants'], [first, second], 'each with its own amount')
    for (const at of all) {
      await untilTrue(async () => {
        const { day } = json(await at.call('GET', '/v1/quota', undefined, one.headers))
        return (day as { limit: number }).limit === 300
      })
    }
    admitted = 0
    for (let i = 0; i < 4; i++) admitted += await flood()
    t.equal(admitted, 100, 'exactly')
    for (const at of all) {
      t.match(statusAndRate(await get(at, one)), { status: 429, limit: 300, remaining: 0 })
      t.match(json(await at.call('GET', '/v1/quota', undefined, one.headers)), {
        day: { limit: 300, remaining: 0 },
      })
    }
    t.match(json(await ask('GET', `/admin/keys/${two.key.id}`)), {
      standing: { grants: [first, second] },
    })
    t.match(json(await ask('GET', '/admin/audit')), {
      0: {
        ...{ what: 'quota.grant', by: 'admin', subject: one.key.id, before: null },
        after: { quota: 'account:acme', perDay: 40, until: '2026-06-16T00:00:00.000Z' },
      },
    })
    now = Date.UTC(2026, 5, 16)
    // A gateway's estimate of Redis' time doesn't move with the test's clock: it refuses from memory for up to a second.
    await untilTrue(async () => (await get(gateway)).status === 200)
    t.match(statusAndRate(await get(gateway)), { status: 200, limit: 200, remaining: 198 })
    t.strictSame(json(await ask('GET', `/admin/quota/${one.key.id}`))['grants'], [])

    for (const [body, status, sentence] of [
      [{}, 400, /at least one of perSecond, perMinute/],
      [{ note: 'x' }, 400, /at least one of perSecond, perMinute/],
      [{ perDay: 0 }, 400, /whole number from 1/],
      [{ perMinute: 5 }, 400, /has no limit a minute: there is nothing to add to/],
    ] as const) {
      const answer = await ask('POST', path, body)
      t.match(json(answer), { status, message: sentence })
    }
    if (kind === 'redis') return
    now = Date.now()
    const args = ['quota', 'grant', one.key.id, '--day', '7000', '--note', 'by hand', '--by', 'eve']
    const ran = await runCommand([...args, '--config', file], {})
    t.match(ran, { code: 0, out: /Its limit is 7,200 a day until .*, 0 of them used\./ })
    await untilTrue(async () => (await get(gateway)).headers['x-ratelimit-limit'] === '7200')
    const shown = await runCommand(['quota', 'show', one.key.id, '--config', file], {})
    const { out } = await runCommand(['keys', 'show', one.key.id, '--config', file], {})
    t.match(out, /day: +\d+ of 7,200 used \(plan daily: 200 \+ 7,000 granted\), until 20/)
    t.match(shown.out, /GRANTED.*\n\S+ +7,000 +- +eve +by hand/)
  })
}

t.test('a grant ends a refusal that every gateway has cached', async (t) => {
  const start = noon + 5_000
  const { ask, all, gateway } = await startOnOneStore(t, 'redis', () => start)
  const { key, headers } = await gateway.key({ limits: { perMinute: 2 } })
  const get = (at: Gateway) => at.call('GET', '/v1/pets', undefined, headers)
  for (const at of [...all, ...all]) await get(at)
  for (const at of all)
    t.match(statusAndRate(await get(at)), { status: 429, limit: 2 }, 'from memory')
  await ask('POST', `/admin/quota/${key.id}/grant`, { perMinute: 3 })
  let admitted = 0
  const until = performance.now() + 10_000
  while (admitted < 3 && performance.now() < until) {
    for (const at of all) if ((await get(at)).status === 200) admitted++
  }
  t.equal(admitted, 3)
  for (const at of all)
    t.match(statusAndRate(await get(at)), { status: 429, limit: 5, remaining: 0 })
})
