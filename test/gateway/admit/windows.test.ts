import { inADay } from '../../../gateway/front/limits/counters-text.ts'
import t from 'tap'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { configFor, startGateway, startUpstream } from '../../support/gateway.ts'
import { json, type Answer } from '../../support/http.ts'
import { rate } from '../../support/rates.ts'
import { isOverLimit } from '../../support/refusals.ts'
import { until } from '../../support/until.ts'
import { dayMs, hourMs, minuteMs, windows } from '../../../shared/windows.ts'

const noon = Date.UTC(2026, 5, 15, 12)
const july = Date.UTC(2026, 6, 1)
const unlimited = { perMinute: 'unlimited', perDay: 'unlimited' } as const

t.test(
  'of several windows that refuse the one that ends last is told, with its wait',
  async (t) => {
    const { call, key } = await startGateway(t, { clock: () => noon })
    const expected = [
      ['a second', noon + 1_000],
      ['a minute', noon + minuteMs],
      ['an hour', noon + hourMs],
      ['a day', noon + dayMs / 2],
      // It is a Monday.
      ['a week', noon + 6.5 * dayMs],
      ['a month', july],
    ] as const
    const names = windows.map(({ limit }) => limit)
    for (const [longest, [each, end]] of expected.entries()) {
      const full = Object.fromEntries(names.map((name, i) => [name, i <= longest ? 2 : 99]))
      const { headers } = await key({ limits: full })
      const ask = () => call('GET', '/v1/pets', undefined, headers)
      await ask()
      await ask()
      const refused = await ask()
      const seconds = (end - noon) / 1_000
      const sentence = new RegExp(`^2 requests ${each} are used up\\. Try again at `)
      isOverLimit(t, refused, 'rate_limit_exceeded', sentence, seconds)
      t.strictSame(rate(refused), [2, 0, end / 1_000], each)
    }
  },
)

t.test('a week that goes on after its month refuses for longer, also a part’s', async (t) => {
  // A Monday, and a Wednesday.
  const [monday, first] = [Date.UTC(2026, 5, 29), Date.UTC(2026, 6, 1)]
  let now = first - 60_000
  const { call, key } = await startGateway(t, {
    clock: () => now,
    more: `plans:
  free: { perMinute: 60, perDay: 99, perWeek: 2, perMonth: 2, bans: off }
  half: { perMinute: 60, perDay: 99, perMonth: 2, operations: { pets: { paths: [/v1/pets], perWeek: 2 } } }
`,
  })
  const seconds = (time: number) => (time - now) / 1_000
  for (const [plan, sentence] of [
    ['free', /^2 requests a week are used up/],
    ['half', /^2 pets a week are used up/],
  ] as const) {
    now = first - 60_000
    const { headers } = await key({ plan })
    const ask = () => call('GET', '/v1/pets', undefined, headers)
    for (let i = 0; i < 2; i++) t.equal((await ask()).status, 200)
    const next = monday + 7 * dayMs
    const refused = await ask()
    isOverLimit(t, refused, 'rate_limit_exceeded', sentence, seconds(next))
    t.strictSame(rate(refused), [2, 0, next / 1_000])
    now = next - 1
    t.equal((await ask()).status, 429, 'to its last millisecond, though a month has begun')
    now = next
    t.equal((await ask()).status, 200, 'a caller that has waited as told is let in')
  }
})

t.test('a second is told by the refusal that it alone caused, and by nothing else', async (t) => {
  let now = noon
  const { call, key } = await startGateway(t, { clock: () => now })
  const tight = await key({ limits: { perSecond: 1, perMinute: 9, perDay: 99 } })
  const alone = await key({ limits: { ...unlimited, perSecond: 1 } })
  const ask = ({ headers }: typeof tight, path = '/v1/pets') =>
    call('GET', path, undefined, headers)
  t.strictSame(rate(await ask(tight)), [9, 8, noon / 1_000 + 60], 'though a second has none left')
  const refused = await ask(tight)
  t.strictSame(rate(refused), [1, 0, noon / 1_000 + 1])
  isOverLimit(t, refused, 'rate_limit_exceeded', /^1 requests a second are used up/, 1)
  const none = [undefined, undefined, undefined]
  t.strictSame(rate(await ask(alone)), none)
  t.strictSame(rate(await ask(alone)), [1, 0, noon / 1_000 + 1])
  t.strictSame(rate(await ask(alone, '/v1/quota')), none)
  now += 999
  t.equal((await ask(alone)).status, 429, 'to its last millisecond')
  now++
  t.equal((await ask(alone)).status, 200)
})

t.test('Draft 11 lists all windows, and tells the one of the other headers', async (t) => {
  const { call, key } = await startGateway(t, {
    clock: () => noon,
    more: 'headers: { ietf: true }',
  })
  const short = { perSecond: 20, perMinute: 300, perHour: 5_000, perDay: 10_000 }
  const limits = { ...short, perWeek: 50_000 }
  const of = async (limits: Parameters<typeof key>[0]) =>
    (await call('GET', '/v1/pets', undefined, (await key(limits)).headers)).headers
  const all = await of({ limits: { ...limits, perMonth: 200_000 } })
  t.equal(
    all['ratelimit-policy'],
    '"second";q=20;w=1, "minute";q=300;w=60, "hour";q=5000;w=3600, "day";q=10000;w=86400, "week";q=50000;w=604800, "month";q=200000',
  )
  t.equal(all['ratelimit'], '"minute";r=299;t=60')
  const month = await of({ limits: { ...limits, perMonth: 40 } })
  t.equal(month['ratelimit'], `"month";r=39;t=${(july - noon) / 1_000}`)
  const two = await of({ limits: { ...unlimited, perSecond: 1 } })
  t.strictSame([two['ratelimit-policy'], two['ratelimit']], [undefined, undefined])
})

t.test('points of unanswered requests come back to hours and longer windows', async (t) => {
  let now = noon + 10 * minuteMs
  let wait: (() => Promise<void>) | undefined
  const upstream = await startUpstream(t, (request, response) => {
    const status = Number(/\d{3}/.exec(request.url ?? '')?.[0])
    const answer = () => {
      if (status === 502) return response.destroy()
      if (status === 504) return undefined
      return response.writeHead(status).end('{}')
    }
    void (wait?.() ?? Promise.resolve()).then(answer)
  })
  const { call, key } = await startGateway(t, {
    upstream,
    clock: () => now,
    upstreamMore: 'timeout: { connect: 30s, response: 1s }',
  })
  const limits = {
    perSecond: 50,
    perMinute: 60,
    perHour: 70,
    perDay: 80,
    perWeek: 85,
    perMonth: 90,
  }
  const { headers } = await key({ limits })
  const ask = (status: number): Promise<Answer> => call('GET', `/v1/${status}`, undefined, headers)
  const used = async () => {
    const quota = json(await call('GET', '/v1/quota', undefined, headers))
    return windows.map(({ name }) => {
      const { limit, remaining } = quota[name] as { limit: number; remaining: number }
      return limit - remaining
    })
  }
  await ask(200)
  t.strictSame(await used(), [1, 1, 1, 1, 1, 1])
  for (const status of [502, 504]) t.equal((await ask(status)).status, status)
  t.strictSame(await used(), [3, 3, 1, 1, 1, 1])
  await ask(503)
  t.strictSame(await used(), [4, 4, 2, 2, 2, 2], 'an answer of the backend costs its point')
  wait = () => {
    now = noon + hourMs
    return Promise.resolve()
  }
  await ask(502)
  t.strictSame(await used(), [0, 0, 0, 2, 2, 2], 'the hour has ended meanwhile')
  await ask(200)
  wait = () => {
    now = noon + dayMs
    return Promise.resolve()
  }
  t.strictSame(await used(), [1, 1, 1, 3, 3, 3])
  await ask(502)
  t.strictSame(await used(), [0, 0, 0, 0, 3, 3], 'and the day')
})

t.test('a reload and a move to another plan keep what each window has used', async (t) => {
  const plansOf = (free: string) =>
    `plans: { free: { ${free} }, pro: { perMinute: 20, perHour: 9, perDay: 20, perMonth: 7 } }`
  let now = noon
  const gateway = await startGateway(t, {
    clock: () => now,
    more: plansOf('perMinute: 20, perDay: 20'),
  })
  const { headers, key } = await gateway.key({ plan: 'free' })
  const ask = async () => (await gateway.call('GET', '/v1/pets', undefined, headers)).status
  const left = async () => {
    const quota = json(await gateway.call('GET', '/v1/quota', undefined, headers))
    return ['second', 'minute', 'hour', 'day', 'month'].map(
      (name) => (quota[name] as { remaining: number } | undefined)?.remaining,
    )
  }
  for (let i = 0; i < 4; i++) await ask()
  t.strictSame(await left(), [undefined, 16, undefined, 16, undefined])
  const more = plansOf('perSecond: 2, perMinute: 20, perDay: 20, perMonth: 6')
  const text = configFor(gateway.upstream.url, 'file: unused.db', { more })
  const config = parseConfig(text, {}, 'test.yaml')
  await gateway.app.change({
    ...config,
    store: gateway.config.store,
    listen: gateway.config.listen,
  })
  t.strictSame(await left(), [2, 16, undefined, 16, 2], 'a second is counted from now on')
  t.strictSame([await ask(), await ask(), await ask()], [200, 200, 429])
  t.strictSame(await left(), [0, 14, undefined, 14, 0])
  await gateway.desk.edit(key.id, gateway.desk.changing({ plan: 'pro' }))
  await until(async () => (await left())[2] !== undefined)
  t.strictSame(await left(), [undefined, 14, 3, 14, 1])
  t.strictSame([await ask(), await ask()], [200, 429])
  now = july
  t.strictSame([await ask(), await left()], [200, [undefined, 19, 8, 19, 6]])
})

t.test('the number of a window within its day is whole, however long it is', (t) => {
  for (const unitMs of [1_000, 7_000, 3_600_000, 86_400_000]) {
    t.ok(Number.isInteger(inADay({ unitMs })), `${unitMs} ms`)
  }
  t.end()
})
