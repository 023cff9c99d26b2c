import t from 'tap'
import { startGateway } from '../../support/gateway.ts'
import { entry, startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'

const day = 86_400_000
const start = Date.UTC(2026, 5, 15, 12)

t.test('the end of a month is told once a month, beside that of a day', async (t) => {
  const { got, url } = await startReceiver(t)
  let now = start
  const more = `plans: { free: { perMinute: unlimited, perDay: 10, perMonth: 20, bans: off } }
notices: [ ${entry(url, ', about: [key.near_limit, key.limit_reached]')} ]`
  const gateway = await startGateway(t, { more, clock: () => now })
  const { notices } = gateway.app.office
  const { key, headers } = await gateway.key()
  const told = () =>
    got.map(({ data: { window, percent, used, limit, resetsAt } }) =>
      [window, percent, used, limit, String(resetsAt).slice(0, 10)].join(' '),
    )
  const ask = async (times: number) => {
    for (let i = 0; i < times; i++) {
      await gateway.call('GET', '/v1/x', undefined, headers)
      await notices.outbox.flush()
      await notices.tick()
    }
  }
  const expect = async (lines: string[], why: string) => {
    await until(async () => {
      await notices.tick()
      return got.length >= lines.length
    })
    t.strictSame(told().sort(), lines.sort(), why)
    got.length = 0
  }
  await ask(9)
  await expect(['day 80 8 10 2026-06-16'], 'the month has 45 %')
  now += day
  await ask(10)
  await expect(
    [
      'day 80 8 10 2026-06-17',
      'day 95 10 10 2026-06-17',
      'day 100 10 10 2026-06-17',
      'month 80 16 20 2026-07-01',
      'month 95 19 20 2026-07-01',
    ],
    'each by its name',
  )
  now += day
  await ask(3)
  await expect(['month 100 20 20 2026-07-01'], 'the month’s others were told the day before')
  now += day
  await ask(3)
  now = Date.UTC(2026, 6, 1)
  await ask(8)
  await expect(['day 80 8 10 2026-07-02'], 'a new month begins without')
  await gateway.stores.quota.setMonthFrom(`key:${key.id}`, 20)
  now += day
  await ask(8)
  now += day
  await ask(8)
  await expect(
    ['day 80 8 10 2026-07-03', 'day 80 8 10 2026-07-04', 'month 80 16 20 2026-07-20'],
    'to the end of its own month',
  )
})
