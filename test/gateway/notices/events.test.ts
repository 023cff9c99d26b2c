import t from 'tap'
import { targetFigures } from '../../../gateway/office/live/targets.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { startGateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { token as operatorToken } from '../../support/operator.ts'
import { day, entry, few, movable, noon, startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'

t.test('the end of a day is told at the exact request, once', async (t) => {
  const { got, types, url } = await startReceiver(t)
  const { clock, move } = movable()
  const more = `${few}\nnotices: [ ${entry(url, ', about: [key.near_limit, key.limit_reached]')} ]`
  const gateway = await startGateway(t, { more, clock })
  const { notices } = gateway.app.office
  const ask = async (headers: Record<string, string>, times = 1) => {
    for (let i = 0; i < times; i++) await gateway.call('GET', '/v1/x', undefined, headers)
    await notices.outbox.flush()
    await notices.tick()
  }
  const [one, other] = [
    await gateway.key({ account: 'zoo' }),
    await gateway.key({ account: 'zoo' }),
  ]
  if (!one || !other) throw new Error('two keys were made')
  await ask(one.headers, 8)
  await ask(other.headers, 7)
  await notices.tick()
  t.strictSame(types(), [], '15 of 20 are nothing')
  await ask(other.headers)
  await until(() => got.length === 1)
  t.match(got, [
    {
      type: 'key.near_limit',
      data: {
        key: { id: other.key.id, name: 'Test', account: 'zoo' },
        ...{ plan: 'free', window: 'day', percent: 80, limit: 20, used: 16 },
        resetsAt: new Date(noon + day / 2).toISOString(),
      },
    },
  ])
  await ask(one.headers, 2)
  await ask(other.headers, 1)
  await until(() => got.length === 2)
  t.match(got[1]?.data, { percent: 95, used: 19 })
  await ask(one.headers, 3)
  await until(() => got.length === 3)
  t.match(got[2], { type: 'key.limit_reached', data: { percent: 100, used: 20 } })

  await t.test('a raised plan tells what is crossed anew, and nothing else', async (t) => {
    for (const { key } of [one, other])
      await gateway.desk.edit(key.id, gateway.desk.changing({ plan: 'pro' }))
    await ask(one.headers, 11)
    t.equal(got.length, 3, '31 of 40')
    await ask(other.headers, 1)
    await until(() => got.length === 4)
    t.match(got[3]?.data, { percent: 80, limit: 40, used: 32 })
  })

  await t.test('a test key of the account tells of its own quota, and says so', async (t) => {
    const { key, headers } = await gateway.key({ account: 'zoo', test: true })
    await ask(headers, 16)
    await until(() => got.length === 5)
    const data = { key: { id: key.id, account: 'zoo', test: true }, percent: 80, used: 16 }
    t.match(got[4]?.data, data)
  })

  await t.test('the next day begins anew', async (t) => {
    move(day)
    await ask(one.headers, 32)
    await until(() => got.length === 6)
    t.match(got[5]?.data, { percent: 80, used: 32 })
  })
  t.equal(new Set(got.map(({ id }) => id)).size, 6)
  t.notMatch(got.map(({ body }) => body).join(), /tg_/, 'no token')
})

t.test('what operators, keys and gateways do is told', async (t) => {
  const { clock, move } = movable()
  const { got, types, url } = await startReceiver(t)
  const sunset = (days: number) => new Date(noon + days * day).toISOString().slice(0, 10)
  const more = `plans: { free: { perMinute: 3, perDay: 1000 } }
bans: { strikes: 1, grace: 1ms }
notices: [ ${entry(url)} ]
deprecations:
  - { operation: GET /v1/old, since: 2025-12-05, sunset: ${sunset(33)}, replacement: /v1/new }
  - { operation: GET /v1/far, since: 2025-12-05, sunset: ${sunset(90)} }`
  const admin = await startAdmin(t, { more, clock })
  const { ask, gateway } = admin
  const { front, office } = gateway.app
  const { notices, stores } = { notices: office.notices, stores: front.stores }
  /** Waits for a notice, ticking on. */
  const told = async (type: string, nth = 0) => {
    const found = () => got.filter((each) => each.type === type)[nth]
    await until(async () => {
      await notices.tick()
      return found() !== undefined
    })
    return found()?.data
  }
  await notices.tick()
  const made = json(
    await ask('POST', '/admin/keys', { name: 'Zoo', plan: 'free', account: 'acme' }),
  )
  const [id, token] = [String(made['id']), String(made['key'])]
  const key = { id, name: 'Zoo', account: 'acme' }
  t.match(await told('key.created'), { key, plan: 'free' })
  await ask('PATCH', `/admin/keys/${id}`, { note: 'seen' })
  t.match(await told('key.changed'), { key, before: { note: null }, after: { note: 'seen' } })
  await ask('POST', `/admin/keys/${id}/disable`)
  t.match(await told('key.changed', 1), { after: { state: 'disabled' } })
  await ask('POST', `/admin/keys/${id}/enable`)

  const headers = { authorization: `Bearer ${token}` }
  await gateway.call('GET', '/v1/old', undefined, headers)
  for (let i = 0; i < 9; i++) {
    await gateway.call('GET', '/v1/x', undefined, headers)
    await new Promise((go) => setTimeout(go, 2))
  }
  t.match(await told('key.banned'), { key, by: 'gateway', until: /Z$/ })
  await ask('DELETE', `/admin/bans/${id}`)
  t.match(await told('key.ban_lifted'), { key })
  const rotated = await ask('POST', `/admin/keys/${id}/rotate`)
  t.match(await told('key.rotated'), { key })
  await ask('PATCH', `/admin/keys/${id}`, { expiresAt: new Date(clock() + 6 * day).toISOString() })
  await notices.walks.walk()
  t.match(await told('key.expiring'), { key, days: 7 })
  t.notOk(types().includes('operation.sunset_near'), 'a far sunset is not told')
  await front.flushCounts()
  // A tick begins the walk of the hour.
  move(5.5 * day)
  t.match(await told('key.expiring', 1), { key, days: 1 })
  t.match(await told('operation.sunset_near'), {
    ...{ operation: 'GET /v1/old', days: 30, keys: 1, replacement: '/v1/new' },
  })
  await notices.walks.walk()
  await notices.walks.walk()
  await ask('POST', `/admin/keys/${id}/revoke`)
  t.match(await told('key.revoked'), { key })
  await notices.walks.walk()

  const audit = { atMs: clock(), by: 'gateway g', subject: 'animals', before: null }
  for (const step of [1, 2])
    await stores.audit.add({ ...audit, what: 'swap.step', after: { step } })
  await stores.audit.add({ ...audit, what: 'swap.back', after: { why: 'it failed' } })
  t.match(await told('upstream.swap_back'), { upstream: 'animals', why: 'it failed' })
  t.notOk(types().includes('upstream.swapped'), 'without a swap no step is the last one')
  await stores.audit.add({ ...audit, what: 'swap.finish', after: { step: 3 } })
  t.match(await told('upstream.swapped'), { upstream: 'animals' })
  await stores.audit.add({ ...audit, what: 'gateways.differ', after: { inForce: [{ hash: 'a' }] } })
  t.match(await told('gateways.differ'), { inForce: [{ hash: 'a' }] })

  await t.test(
    'a target that a gateway of the past took out is let in by the next one',
    async (t) => {
      const [{ upstream, target } = { upstream: '', target: '' }] = targetFigures(
        front.upstreams.all,
      )
      const gone = { subject: `target ${upstream} ${target}`, state: 'out', by: 'gone' }
      await stores.notices.turn(gone, undefined, [])
      notices.targets.out(upstream, target, new Error('refused'))
      t.match(await told('upstream.target_back'), { upstream, target })
      notices.targets.out(upstream, target, new Error('refused'))
      t.match(await told('upstream.target_out'), { upstream, target, why: 'refused' })
      notices.targets.back(upstream, target)
      await told('upstream.target_back', 1)
    },
  )

  t.equal(new Set(got.map(({ id }) => id)).size, got.length, 'each once')
  const once = types().filter((type) => type === 'key.revoked' || type === 'operation.sunset_near')
  t.equal(once.length, 2)
  const bodies = got.map(({ body }) => body).join()
  for (const each of [token, String(json(rotated)['key'])])
    t.notOk(bodies.includes(each), 'no token')

  await t.test('operators see what doesn’t arrive', async (t) => {
    t.match(json(await ask('GET', '/admin/notices?failed=true')), { notices: [] })
    t.match(json(await ask('POST', '/admin/notices/test')), [{ delivered: true, status: 204 }])
    const { text } = await ask('GET', '/metrics')
    t.match(text, /^tollgate_notices_total\{type="key\.created",result="delivered"\} 1$/m)
    const environment = { ADMIN_TOKEN: operatorToken, TOLLGATE_CONFIG: admin.file }
    const { code, out } = await runCommand(['notices', 'list'], environment)
    t.equal(code, 0)
    t.match(out, /ADDRESS .*\n?[^]*http:\/\/127\.0\.0\.1:\d+\/… +\* +0 +0 +0/)
    t.match(out, 'No notices are pending.')
  })
})
