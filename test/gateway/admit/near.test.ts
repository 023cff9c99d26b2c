import t from 'tap'
import { startGateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'

const noon = Date.UTC(2026, 5, 15, 12)
const nextDay = Date.UTC(2026, 5, 16)
const nextMonth = Date.UTC(2026, 6, 1)

t.test('the header tells the long window of which more percent are used', async (t) => {
  let now = noon
  const { call, key } = await startGateway(t, { clock: () => now })
  const limits = { perMinute: 'unlimited', perHour: 10, perDay: 10, perMonth: 20 } as const
  const { headers } = await key({ limits })
  const notice = async (): Promise<[header: unknown, member: unknown]> => {
    const { headers: told } = await call('GET', '/v1/quota', undefined, headers)
    const quota = json(await call('GET', '/v1/quota', undefined, headers))
    return [told['x-ratelimit-notice'], quota['notice']]
  }
  const spend = async (times: number) => {
    for (let i = 0; i < times; i++) await call('GET', '/v1/pets', undefined, headers)
  }
  await spend(7)
  t.strictSame(await notice(), [undefined, null])
  await spend(1)
  t.strictSame(await notice(), ['day; used=80', { window: 'day', used: 80 }], 'the month has 40 %')
  now = nextDay
  await spend(7)
  t.strictSame(await notice(), [undefined, null], '70 % of the day, 75 % of the month')
  await spend(1)
  t.strictSame(
    await notice(),
    ['month; used=80', { window: 'month', used: 80 }],
    'of equals the month',
  )
  await spend(1)
  t.match(await notice(), ['day; used=90'], 'the month has 85 %')
  now = nextDay + 86_400_000
  await spend(2)
  t.match(await notice(), ['month; used=95'], 'the day has begun anew')
  now = nextMonth
  await spend(1)
  t.strictSame(await notice(), [undefined, null], 'so has the month')
})

t.test('an hour that is nearly used up is no news', async (t) => {
  const { call, key } = await startGateway(t, { clock: () => noon })
  const { headers } = await key({ limits: { perHour: 2 } })
  for (let i = 0; i < 3; i++) {
    const answer = await call('GET', '/v1/pets', undefined, headers)
    t.equal(answer.headers['x-ratelimit-notice'], undefined)
  }
})
