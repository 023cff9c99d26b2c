import t from 'tap'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { isSwapped, swapNameOf } from '../../../gateway/front/swaps/swap.ts'
import { startAdmin } from '../../support/admin.ts'
import { configFor, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { isAt, isBack, startSides, swapOf, swapSeen, unlimitedPlan } from '../../support/sides.ts'
import { pause } from '../../support/traffic.ts'
import { until } from '../../support/until.ts'

t.test('operators', async (t) => {
  const { old, next } = await startSides(t)
  const swap = `swap: { to: ["${next.url}"], steps: [50], every: 1h, methods: [GET] }`
  const { gateway, ask, operate, write } = await startAdmin(t, {
    ...{ upstream: old.upstream, upstreamMore: swap, more: unlimitedPlan },
  })
  const act = (verb: string) => ask('POST', `/admin/upstreams/animals/swap/${verb}`)
  await until(isAt(gateway, 0))

  await t.test('pause it and let it go on', async (t) => {
    t.match(json(await act('pause')), { state: 'paused', percent: 50 })
    t.match(json(await act('pause')), { message: /is paused already/ })
    t.match(json(await act('resume')), { state: 'moving', step: 1, missing: 100 })
    t.match(json(await act('resume')), { message: /is not paused/ })
    t.equal((await ask('POST', '/admin/upstreams/nobody/swap/pause')).status, 404)
  })

  await t.test('can’t lose it while callers are at the new side', async (t) => {
    write((text) => text.replace(`, ${swap}`, ''))
    const refused = await ask('POST', '/admin/config/reload')
    t.equal(refused.status, 409)
    t.match(refused.text, /upstreams\.animals has callers at the targets of its swap/)
    write((text) => text.replace(' } }\nroutes', `, ${swap} } }\nroutes`))
    t.match(json(await ask('POST', '/admin/config/reload')), { result: 'unchanged' })
  })

  await t.test('send all callers to the new side, with every method', async (t) => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => gateway.key()))
    const sideOf = async (method: string, i: number) =>
      (await gateway.call(method, '/v1/x', method === 'POST' ? {} : undefined, keys[i]?.headers))
        .headers['x-side']
    for (const i of keys.keys()) t.equal(await sideOf('POST', i), 'old', 'not yet')
    t.match(json(await act('finish')), { state: 'all', percent: 100 })
    await until(isAt(gateway, 1))
    for (const i of keys.keys()) {
      t.strictSame([await sideOf('GET', i), await sideOf('POST', i)], ['new', 'new'])
    }
    t.match((await operate('GET', '/metrics')).text, /^tollgate_swap_step\{.*\} 2$/m)
    t.match(json(await act('finish')), { message: /is not on its way/ })
  })

  await t.test('call it back, and begin anew by an order or by another description', async (t) => {
    t.match(json(await act('back')), { state: 'back', why: /called it back/, percent: 0 })
    await until(isBack(gateway))
    await pause(600)
    t.ok(isBack(gateway)(), 'not by itself')
    t.match(json(await act('resume')), { state: 'checking' })
    await until(isAt(gateway, 0))
    await act('back')
    await until(isBack(gateway))
    write((text) => text.replace('steps: [50]', 'steps: [60]'))
    t.match(json(await ask('POST', '/admin/config/reload')), { result: 'changed' })
    const settings = gateway.app.config.upstreams.get('animals')
    if (!settings) throw new Error('there is an upstream')
    await until(() => gateway.app.front.swaps.see(settings)?.stepInForce === 0)
    t.match(await swapSeen(ask), { percent: 60, step: 1 })
  })

  await t.test('end it with its targets in the file', async (t) => {
    write((text) =>
      text
        .replace(/targets: \[.*?\]/, `targets: [ "${next.url}" ]`)
        .replace(/, swap: \{.*?\} \}/, ' }'),
    )
    t.match(json(await ask('POST', '/admin/config/reload')), { result: 'changed' })
    const { headers } = await gateway.key()
    t.equal((await gateway.call('GET', '/v1/x', undefined, headers)).headers['x-side'], 'new')
    t.strictSame(json(await ask('GET', '/admin/swaps')), {})
  })
})

t.test('a side that would break callers gets none', async (t) => {
  const { old } = await startSides(t)
  const other = await startUpstream(t, (_request, response) => {
    response.statusCode = 404
    response.end()
  })
  const upstreamMore = `swap: { to: ["${other.url}"] }, probes: [ { request: GET /v1/x } ]`
  const { gateway, ask } = await startAdmin(t, {
    ...{ upstream: old.upstream, upstreamMore, more: unlimitedPlan },
  })
  await until(() => swapOf(gateway).progress?.state === 'refused')
  const view = await swapSeen(ask)
  t.match(view, { state: 'refused', percent: 0, why: /would break GET \/v1\/x/ })
  t.match(view?.summary, /doesn’t begin.*tollgate upstream swap resume animals$/)
  const { headers } = await gateway.key()
  t.equal((await gateway.call('GET', '/v1/x', undefined, headers)).headers['x-side'], 'old')
})

t.test('30 requests an hour: it stays, and says what it waits for', async (t) => {
  const { old, next } = await startSides(t)
  let now = Date.now()
  const swap = `swap: { to: ["${next.url}"], steps: [100], every: 5m }`
  const options = {
    upstream: old.upstream,
    upstreamMore: swap,
    more: unlimitedPlan,
    clock: () => now,
  }
  const { gateway, ask } = await startAdmin(t, options)
  await until(() => swapOf(gateway).progress?.state === 'moving')
  now += 2_000
  await until(isAt(gateway, 0))
  const { headers } = await gateway.key()
  for (let i = 0; i < 30; i++) await gateway.call('GET', '/v1/x', undefined, headers)
  now += 3_600_000
  await until(() => swapOf(gateway).sums.new.requests === 30)
  const view = await swapSeen(ask)
  t.match(view, { state: 'moving', step: 1, missing: 70, new: { requests: 30, failures: 0 } })
  t.match(view?.summary, /waits for more: the new side was asked 30 of 100 requests/)
})

t.test('descriptions that can’t be followed are refused', (t) => {
  const mistakesOf = (swap: string): string => {
    try {
      const upstreamMore = `swap: ${swap}`
      parseConfig(configFor('http://a.test', 'file: x.db', { upstreamMore }), {}, 'x.yaml')
      return ''
    } catch (error) {
      return String(error)
    }
  }
  const to = 'to: ["http://b.test"]'
  t.equal(mistakesOf(`{ ${to} }`), '')
  for (const [swap, sentence] of [
    [`{ ${to}, steps: [10, 10] }`, /steps\[1\] must be above the step before, which is 10/],
    [`{ ${to}, steps: [50, 20] }`, /steps\[1\] must be above/],
    [`{ ${to}, steps: [10, 101] }`, /a percentage above 0 and up to 100/],
    [`{ ${to}, steps: [0] }`, /a percentage above 0/],
    [`{ ${to}, steps: [0%] }`, /a percentage above 0 and up to 100, such as 10%, got "0%"/],
    [`{ ${to}, steps: [101%] }`, /a percentage above 0 and up to 100/],
    [`{ ${to}, steps: [10%, 9%] }`, /steps\[1\] must be above the step before, which is 10%/],
    [`{ ${to}, every: 5m, for: 5m }`, /swap\.for is the same setting as every: write one of them/],
    [`{ ${to}, steps: [] }`, /a list of at most 20 rising percentages/],
    [
      `{ ${to}, steps: [${Array.from({ length: 21 }, (_, i) => i + 1).join()}] }`,
      /at most 20 rising/,
    ],
    [`{ ${to}, back: { errors: 101% } }`, /a share such as 1%/],
    [`{ ${to}, back: { errors: 5 } }`, /a share such as 1%/],
    [`{ ${to}, back: { slower: 1 } }`, /a number above 1/],
    [`{ ${to}, methods: [GET, FETCH] }`, /methods\[1\]/],
    [`{ to: ["http://a.test/"] }`, /to\[0\] is one of the targets already/],
    [`{ steps: [1] }`, /to is missing|to/],
  ] as const) {
    t.match(mistakesOf(swap), sentence, swap)
  }
  t.end()
})

t.test('another description is another swap', (t) => {
  const nameOf = (swap: string) => {
    const text = configFor('http://a.test', 'file: x.db', { upstreamMore: `swap: ${swap}` })
    const upstream = parseConfig(text, {}, 'x.yaml').upstreams.get('animals')
    return upstream && isSwapped(upstream) && swapNameOf(upstream).id
  }
  const name = nameOf('{ to: ["http://b.test"] }')
  t.equal(nameOf('{ to: [ { url: "http://b.test" } ], every: 5m }'), name, 'however it is written')
  t.equal(nameOf('{ to: ["http://b.test"], steps: [1%, 10, 50.0%], for: 5m }'), name)
  t.not(nameOf('{ to: ["http://b.test"], every: 6m }'), name)
  t.end()
})
