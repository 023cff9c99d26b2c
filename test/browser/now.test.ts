import type { Page } from 'playwright-core'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { focused, looksWell, settled, startBrowser } from '../support/browser.ts'
import { startUpstream } from '../support/gateway.ts'
import { until } from '../support/until.ts'

const { test } = await startBrowser(t)

/** The text of a tile of the last minute. */
const tile = (page: Page, name: string) =>
  page.locator('.tile', { has: page.getByText(name, { exact: true }) }).innerText()

test('first steps lead from an empty console to a request, and go with it', async (t, open) => {
  const { url, gateway } = await startAdmin(t)
  const page = await open(url)
  await page.getByRole('heading', { name: 'First steps' }).waitFor()
  t.equal(await page.locator('.columns .chart').count(), 0, 'there are no times yet')
  await looksWell(t, page, 'now-first-steps')
  await page.getByRole('button', { name: 'Create key' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Create key' })
  await dialog.getByRole('option').first().waitFor({ state: 'attached' })
  await dialog.getByLabel('Name').fill('Me')
  await page.keyboard.press('Enter')
  const token = await dialog.locator('.token').innerText()
  await dialog.getByRole('button', { name: 'Done' }).press('Enter')
  await page.getByText('or take a token that npm start has printed').waitFor()
  const line = page.locator('.card pre')
  t.match(await line.innerText(), /^curl http:\/\/127\.0\.0\.1:\d+\/v1\/pets -H "Authorization: /)
  await page.keyboard.press('Tab')
  t.match(await focused(page), 'curl http', 'it scrolls by keyboard')

  await gateway.call('GET', '/v1/pets', undefined, { authorization: `Bearer ${token}` })
  await page.getByText('1 in the last minute').waitFor()
  await line.waitFor({ state: 'hidden' })
  await page.getByRole('cell', { name: '/v1/*' }).waitFor()
  await looksWell(t, page, 'now-one')
})

test('first steps come also where the gateway had no answer at first', async (t, open) => {
  const { url } = await startAdmin(t)
  const page = await open(url, { expected: /^503 GET/ })
  await settled(page)
  const failed = page.waitForResponse((response) => response.status() === 503)
  await page.route('**/admin/config', (route) => route.fulfill({ status: 503 }), { times: 1 })
  await page.reload()
  await failed
  await page.getByRole('heading', { name: 'First steps' }).waitFor()
  t.pass('they came')
})

test('a token that the first steps show stays when traffic comes', async (t, open) => {
  const { url, gateway } = await startAdmin(t)
  const page = await open(url)
  await page.getByRole('button', { name: 'Create key' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Create key' })
  await dialog.getByRole('option').first().waitFor({ state: 'attached' })
  await dialog.getByLabel('Name').fill('Me')
  await page.keyboard.press('Enter')
  const token = await dialog.locator('.token').innerText()
  await gateway.call('GET', '/v1/pets')
  await page.getByText('1 in the last minute').waitFor()
  t.equal(await dialog.locator('.token').innerText(), token)
  await dialog.getByRole('button', { name: 'Done' }).press('Enter')
  await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'hidden' })
})

test('a quiet gateway whose keys were used has no first steps, and a reader can’t make keys', async (t, open) => {
  const reader = 'token-of-one-who-reads-only'
  const { url, gateway } = await startAdmin(t, { tokens: `carol/read:${reader}` })
  const { key } = await gateway.key({ name: 'Acme' })
  const page = await open(url, { token: reader })
  await page.getByText('Ask for a key').waitFor()
  const nowMs = Date.now()
  await gateway.stores.lastUses.note([{ key: key.id, mark: 'a-token', atMs: nowMs }], nowMs)
  await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'hidden' })
  await page.reload()
  await page.getByText('0 in the last minute').waitFor()
  await settled(page)
  t.equal(await page.getByRole('heading', { name: 'First steps' }).count(), 0)
})

test('figures over their marks say so, routes that fail come first, and equal refusals share a row', async (t, open) => {
  // No minute ends while they are sent.
  const nowMs = Date.now()
  const upstream = await startUpstream(t, ({ url = '' }, response) => {
    response.writeHead(url.includes('broken') ? 500 : 200).end('{}')
  })
  const { url, gateway } = await startAdmin(t, {
    ...{ upstream, clock: () => nowMs },
    more: 'plans: { free: { perMinute: 10, perDay: 1000 }, pro: { perMinute: 900, perDay: 90000 } }',
    routes: '[ { path: /v1/*, upstream: animals }, { path: /v2/*, upstream: animals } ]',
  })
  const acme = await gateway.key({ name: 'Acme', plan: 'pro' })
  const bolt = await gateway.key({ name: 'Bolt' })
  const send = async (times: number, path: string, { headers }: typeof acme) => {
    for (let i = 0; i < times; i++) await gateway.call('GET', path, undefined, headers)
  }
  const page = await open(url)
  await settled(page)
  await send(19, '/v1/pets', acme)
  await page.getByText('19 in the last minute').waitFor()
  t.equal(await page.getByText(/▲ over \d+ %/).count(), 0, 'all is well')
  await send(1, '/v2/broken', acme)
  await page.getByText('20 in the last minute').waitFor()
  t.equal(await tile(page, 'Failed'), 'Failed\n5.0 %\nbackend 1', 'as much as the mark')
  await send(10, '/v1/pets', bolt)
  await send(14, '/v1/pets', bolt)
  await send(3, '/v2/pets', bolt)
  await send(3, '/v2/broken', acme)
  await page.getByText('50 in the last minute').waitFor()
  t.match(await tile(page, 'Failed'), /^Failed\n8\.0 %\n.*\n▲ over 5 %$/)
  t.match(await tile(page, 'Refused'), /^Refused\n34 %\n17 requests\n▲ over 20 %$/)
  t.match(await tile(page, 'Requests'), /^Requests\n0\.83 a second/)

  const routes = page.getByRole('region', { name: /failing routes first/ }).locator('tbody tr')
  // On a busy machine the times may be over their mark, too.
  t.match(await routes.allInnerTexts(), [
    /^\/v2\/\*\s+7\s+57 %\s+▲ over 5 %\s+43 %\s+[\d.]+\s+[\d.]/,
    /^\/v1\/\*\s+43\s+0 %\s+33 %\s+▲ over 20 %\s+[\d.]+\s+[\d.]/,
  ])

  const failures = page.getByRole('region', { name: /^15 minutes, most first/ })
  t.match(await failures.locator('tbody tr').allInnerTexts(), [
    /^[\d:]+\s+The target http:\S+ of \S+ answered 500 itself.*\s+backend\s+4\s+500$/,
  ])
  const refusals = page.getByRole('region', { name: /^The latest 21, grouped by key and reason/ })
  t.match(await refusals.locator('tbody tr').allInnerTexts(), [
    /^[\d:]+\s+backend\s+Acme\s+4\s+500 from the backend\s+\/v2\/\*$/,
    /^[\d:]+\s+minute\s+Bolt\s+17\s+429 rate_limit_exceeded\s+\/v2\/\* and 1 more$/,
  ])
  await looksWell(t, page, 'now-over-marks')
  await page.setViewportSize({ width: 390, height: 844 })
  const why = await refusals.getByRole('columnheader', { name: 'Why' }).boundingBox()
  t.ok(why && why.x + why.width <= 390, 'the reason is in view on a phone')
  const row = await refusals.locator('tbody tr').first().boundingBox()
  t.ok(row && row.height <= 100, `${row?.height}`)
  await page.getByLabel('Filter').fill('bolt')
  await page
    .getByRole('region', { name: /^The latest 17,/ })
    .getByRole('link')
    .first()
    .press('Enter')
  await page.getByText('429 rate_limit_exceeded.').waitFor()
})

test('bars of 5 seconds and lines of times can be pointed at, on a phone too', async (t, open) => {
  const { url, gateway } = await startAdmin(t)
  const { headers } = await gateway.key({ plan: 'pro' })
  for (let i = 0; i < 10; i++) await gateway.call('GET', '/v1/pets', undefined, headers)
  const page = await open(url)
  const charts = page.locator('figure.chart')
  await page.getByText('10 in the last minute').waitFor()
  // The columns of 15 minutes that fit, by the width of the page.
  for (const [width, ofTraffic, ofTimes] of [
    [1280, 180, 90],
    [390, 60, 60],
  ] as const) {
    await page.setViewportSize({ width, height: 2_000 })
    for (const [i, columns] of [ofTraffic, ofTimes, ofTimes].entries()) {
      const chart = charts.nth(i)
      const drawnWidth = async (): Promise<number> =>
        (await chart.locator('.drawing svg').boundingBox())?.width ?? 0
      // It is drawn anew for another width a little later.
      await until(async () => (await drawnWidth()) < width)
      const wide = ((await drawnWidth()) - 44) / columns
      t.ok(wide >= 4, `${width}: ${wide} pixels`)
      const head = chart.locator('.legend-head')
      const secondsAt = async (column: number): Promise<number> => {
        await chart.locator('.drawing svg').hover({ position: { x: 44 + wide * column, y: 50 } })
        await chart.locator('.pointed').waitFor()
        return Date.parse(`1970-01-01T${(await head.innerText()).slice(0, 8)}Z`) / 1_000
      }
      // The page writes a little later, and meanwhile the columns may move on.
      const between = async () => (await secondsAt(20.5)) - (await secondsAt(19.5))
      await until(async () => (await between()) === 900 / columns)
      t.match(await head.innerText(), i === 0 ? /^[\d:]{8} UTC, a second$/ : /^[\d:]{8} UTC$/)
      await page.mouse.move(0, 0)
      await chart.getByText('In 15 minutes').waitFor()
    }
  }
  const bars = charts.first().getByRole('slider')
  const pointedAt = () => bars.getAttribute('aria-valuenow')
  await bars.press('ArrowLeft')
  await until(async () => (await pointedAt()) === '59')
  await bars.press('ArrowLeft')
  await until(async () => (await pointedAt()) === '58')
  t.match(
    await bars.getAttribute('aria-valuetext'),
    /^[\d:]{8} UTC, a second, answered [\d.]+, refused by/,
  )
  t.match(await charts.first().locator('.legend-head').innerText(), /^[\d:]{8} UTC, a second$/)
  await page.keyboard.press('Tab')
  await charts
    .first()
    .getByText(/^In 15 minutes; incomplete before \d\d:\d\d$/)
    .waitFor()
  const unknown = await charts.first().locator('.unknown').boundingBox()
  t.ok(unknown && unknown.width > 200, 'the time before the gateway’s start is shaded')
  await charts.nth(2).getByText('Show as table').press('Enter')
  const times = page.getByRole('region', { name: 'Backends’ time, ms: the highest of' })
  t.match(await times.locator('tbody tr').first().innerText(), /^[\d:]+\s+[\d.]+ ms\s+[\d.]+ ms$/)
  t.match(
    await charts.nth(1).locator('svg').first().getAttribute('aria-label'),
    /p50 [\d.]+ ms, p99/,
  )
})
