import t from 'tap'
import { startGateway } from '../../support/gateway.ts'
import { entry, startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'

t.test('once a top-up it is told that little of it is left, and that nothing is', async (t) => {
  const { got, url } = await startReceiver(t)
  const more = `plans: { free: { perMinute: unlimited, perMonth: { limit: 1, beyond: prepaid } } }
notices: [ ${entry(url, ', about: [key.limit_reached, quota.*]')} ]`
  const gateway = await startGateway(t, { more })
  const { notices } = gateway.app.office
  const { key, headers } = await gateway.key()
  const ask = async (times: number) => {
    for (let i = 0; i < times; i++) await gateway.call('GET', '/v1/x', undefined, headers)
  }
  const topUp = (points: number, id: string) =>
    gateway.stores.quota.topUp(`key:${key.id}`, { id, points, by: 'me' })
  const expect = async (lines: string[], why: string) => {
    await until(async () => {
      await notices.outbox.flush()
      await notices.tick()
      return got.length >= lines.length
    })
    const told = got.map(({ type, data: { window, left, lastTopUp } }) =>
      [type, window, left, lastTopUp].join(' '),
    )
    t.strictSame(told.sort(), lines.sort(), why)
    got.length = 0
  }
  // Nothing was bought yet: a refusal tells the caller, and no operator.
  await ask(2)
  await topUp(10, 'a')
  await ask(10)
  await expect(
    ['quota.prepaid_low month 2 10', 'quota.prepaid_empty month 0 10'],
    'the last of them isn’t waited for',
  )
  await ask(3)
  await topUp(20, 'b')
  await ask(17)
  await topUp(5, 'c')
  await ask(7)
  await expect(['quota.prepaid_low month 4 20', 'quota.prepaid_low month 1 5'], 'by the last one')
})
