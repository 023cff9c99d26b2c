import t from 'tap'
import { desksFor } from '../../../gateway/office/operations/desks.ts'
import type { Stores } from '../../../gateway/front/stores/stores.ts'
import { startGateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { rate } from '../../support/rates.ts'
import { isOverLimit } from '../../support/refusals.ts'
import { until } from '../../support/until.ts'

const noon = Date.UTC(2026, 5, 15, 12, 0, 10)

t.test('bans', async (t) => {
  t.test(
    'a loop that ignores its refusals is banned at the strike that is written down',
    async (t) => {
      let now = noon
      const { call, key, stores } = await startGateway(t, { clock: () => now })
      const { headers, key: record } = await key({ limits: { perMinute: 2, perDay: 100 } })
      const ask = () => call('GET', '/v1/pets', undefined, headers)
      await ask()
      await ask()
      const codes: unknown[] = []
      t.equal(json(await ask())['code'], 'rate_limit_exceeded', 'the episode begins')
      now += 1_001
      for (let i = 0; i < 25; i++) codes.push(json(await ask())['code'])
      t.equal(codes.indexOf('key_banned'), 19, 'the twentieth strike')
      const banned = await ask()
      const until = Math.ceil((now + 60_000) / 1000)
      t.strictSame(rate(banned), [2, 0, until])
      isOverLimit(
        t,
        banned,
        'key_banned',
        /^Your key is banned until 12:01:12 UTC \(61 s\): it sent requests after a 429 had asked it to wait\. After a 429, wait as long as Retry-After says\.$/,
        61,
      )
      const view = json(await call('GET', '/v1/quota', undefined, headers))
      t.match(view, {
        plan: 'free',
        bannedUntil: until,
        strikes: 0,
        minute: { limit: 2, remaining: 0 },
      })
      t.match(await stores.quota.bans(), [{ key: record.id, untilMs: now + 60_000 }])
      now += 60_000
      t.equal((await ask()).status, 200, 'and works again when it ends')
    },
  )

  t.test('of a share, dearer requests are told that fewer strikes ban', async (t) => {
    let now = noon
    const { call, key } = await startGateway(t, {
      clock: () => now,
      routes: '[ { path: /v1/*, upstream: animals, cost: 30 } ]',
    })
    const { headers } = await key()
    const ask = async () => json(await call('GET', '/v1/pets', undefined, headers))
    for (let i = 0; i < 3; i++) await ask()
    now += 1_001
    const sentence =
      /strikes, 60 of which ban your key, of requests that cost more fewer; it has 1\.$/
    t.match(await ask(), { code: 'rate_limit_exceeded', message: sentence })
    for (let i = 0; i < 18; i++) await ask()
    t.match(await ask(), { code: 'key_banned', message: /: it sent requests after a 429 / })
  })

  t.test('two hundred at once, then silence, are none', async (t) => {
    const { call, key } = await startGateway(t, { clock: () => noon })
    const { headers } = await key()
    const all = await Promise.all(
      Array.from({ length: 200 }, () => call('GET', '/v1/pets', undefined, headers)),
    )
    const counts = [200, 429].map(
      (status) => all.filter((answer) => answer.status === status).length,
    )
    t.strictSame(counts, [60, 140])
    t.match(json(await call('GET', '/v1/quota', undefined, headers)), {
      bannedUntil: null,
      strikes: 0,
    })
  })

  t.test('a client that waits as long as told is let in, whenever it asks', async (t) => {
    let now = noon
    const { call, key } = await startGateway(t, { clock: () => Math.floor(now) })
    const { headers } = await key({ limits: { perMinute: 2, perDay: 20 } })
    let seed = 7
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
    let waits = 0
    while (waits < 200) {
      now += random() * 20_000
      const answer = await call('GET', '/v1/pets', undefined, headers)
      if (answer.status === 200) continue
      t.match(json(answer), { code: 'rate_limit_exceeded' })
      now = Math.floor(now) + Number(answer.headers['retry-after']) * 1000
      const after = await call('GET', '/v1/pets', undefined, headers)
      if (after.status !== 200) t.fail(`wait ${waits}: ${after.text}`)
      waits++
    }
    t.pass('two hundred times')
  })

  t.test('are off for a plan that says so', async (t) => {
    let now = noon
    const more = 'plans: { free: { perMinute: 1, perDay: 100, bans: off } }\nbans: { strikes: 1 }'
    const { call, key } = await startGateway(t, { clock: () => now, more })
    const { headers } = await key()
    for (let i = 0; i < 5; i++) {
      now += 2_000
      const { status, text } = await call('GET', '/v1/pets', undefined, headers)
      if (i > 0) t.match([status, text], [429, /rate_limit_exceeded/])
    }
  })
})

t.test('a ban goes with its key to another account, and is lifted there', async (t) => {
  const { call, key, desk, stores, config } = await startGateway(t)
  const { headers, key: record } = await key()
  const status = async () => (await call('GET', '/v1/pets', undefined, headers)).status
  const { quotas: bans } = desksFor({ ...config, stores, clock: Date.now, by: 'me' })
  await bans.ban(record.id, 60_000)
  t.equal(await status(), 429)
  await desk.edit(record.id, desk.changing({ account: 'other' }))
  t.equal(await status(), 429)
  await bans.lift(record.id)
  t.equal(await status(), 200)
})

t.test('a banned key without limits is told when its ban ends', async (t) => {
  const { call, key, stores } = await startGateway(t, { clock: () => noon })
  const { headers, key: record } = await key({
    limits: { perMinute: 'unlimited', perDay: 'unlimited' },
  })
  await stores.quota.ban(`key:${record.id}`, record.id, noon + 3_600_000)
  const banned = await call('GET', '/v1/pets', undefined, headers)
  t.match(banned, { status: 429, headers: { 'retry-after': '3600' } })
  t.match(json(banned), {
    message: "Your key is banned until 13:00:10 UTC (1 h): the API's operator has banned it.",
  })
})

/** Makes a store wait with its decisions until they are released. */
function holdDecisions({ quota }: Stores): { asked: () => number; release: () => void } {
  const decide = quota.decide.bind(quota)
  let asked = 0
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  quota.decide = async (name, ask) => {
    asked++
    await held
    return decide(name, ask)
  }
  return { asked: () => asked, release }
}

t.test('a ban that was decided by one configuration is told with its rules', async (t) => {
  let now = noon
  const gateway = await startGateway(t, {
    clock: () => now,
    more: 'bans: { strikes: 1, grace: 0s }',
  })
  const { headers } = await gateway.key({ limits: { perMinute: 1 } })
  const ask = () => gateway.call('GET', '/v1/pets', undefined, headers)
  t.equal((await ask()).status, 200)
  t.match(json((await ask()).text), { code: 'rate_limit_exceeded' })
  now += 1
  const { asked, release } = holdDecisions(gateway.stores)
  const before = ask()
  await until(() => asked() === 1)
  const { plans } = gateway.config
  const [free] = [...plans.values()]
  if (!free) throw new Error('there is a plan')
  const unbanned = new Map([...plans, ['free', { ...free, bans: false }]])
  await gateway.app.change({ ...gateway.config, plans: unbanned })
  const after = ask()
  await until(() => asked() === 2)
  release()
  t.match(json((await before).text), { message: /: it sent a request after a 429 had asked/ })
  t.match(json((await after).text), { message: /: it sent requests after a 429 had asked/ })
})

t.test('what was decided by one configuration is told with its limits', async (t) => {
  const gateway = await startGateway(t, { clock: () => noon })
  const { headers } = await gateway.key()
  const { asked, release } = holdDecisions(gateway.stores)
  const ask = () => gateway.call('GET', '/v1/pets', undefined, headers)
  const before = ask()
  await until(() => asked() === 1)
  const { plans } = gateway.config
  const [free] = [...plans.values()]
  if (!free) throw new Error('there is a plan')
  const less = { ...free, limits: { perMinute: 10, perDay: 20 } }
  await gateway.app.change({ ...gateway.config, plans: new Map([...plans, ['free', less]]) })
  const after = ask()
  await until(() => asked() === 2)
  release()
  const told = (await Promise.all([before, after])).map((answer) => [
    answer.headers['x-ratelimit-limit'],
    answer.headers['x-ratelimit-remaining'],
  ])
  t.strictSame(told, [
    ['60', '59'],
    ['10', '8'],
  ])
})
