import { readFileSync } from 'node:fs'
import t from 'tap'
import { deprecatedCall } from '../../gateway/front/counts/deprecated-calls.ts'
import { startAdmin } from '../support/admin.ts'
import {
  furnish,
  go,
  looksWell,
  picture,
  pressAction,
  retiring,
  saving,
  settled,
  startBrowser,
  startWithRedis,
} from '../support/browser.ts'
import { plans, startUpstream } from '../support/gateway.ts'
import { json } from '../support/http.ts'
import { until } from '../support/until.ts'

const { test } = await startBrowser(t)

test('a browser whose clock is wrong by two days shows the ages and days of the gateway', async (t, open) => {
  const admin = await startAdmin(t, { more: retiring })
  const { key } = await furnish(admin)
  const page = await open(admin.url)
  for (const days of [2, -2]) {
    await page.clock.setFixedTime(Date.now() + days * 86_400_000)
    await go(page, 'audit')
    await go(page, `keys/${key.id}`)
    t.match(
      await page.locator('main .facts').first().innerText(),
      /Token last used\s+[^,]*\d\d:\d\d, \d+ (?:s|min) ago/,
    )
    const today = new Date().toISOString().slice(0, 10)
    const chart = page.locator('figure.chart').first()
    await chart.getByText('In 90 days').waitFor()
    await chart.getByRole('slider').press('ArrowLeft')
    t.match(await chart.locator('figcaption').innerText(), new RegExp(`^${today}\\s+admitted`))
    await page.getByText('Show as table').first().click()
    t.match(await page.locator('main details').first().textContent(), today, `${days} days`)
  }
})

test('callers that still call what goes are saved as a file, and a refusal isn’t', async (t, open) => {
  const admin = await startAdmin(t, { more: retiring })
  await furnish(admin, '=1+1')
  const page = await open(admin.url, {
    place: 'deprecations',
    expected: /^401 GET \/admin\/deprecations$/,
  })
  const save = page.getByRole('button', { name: 'Save all callers as CSV' })
  const [download] = await Promise.all([page.waitForEvent('download'), save.click()])
  t.equal(download.suggestedFilename(), 'deprecated-calls.csv')
  const { text } = await admin.ask('GET', '/admin/deprecations', undefined, { accept: 'text/csv' })
  t.equal(readFileSync(await download.path(), 'utf8'), text)
  t.match(text, `"'=1+1"`, 'a name is no formula')
  let files = 0
  page.on('download', () => files++)
  await page.context().clearCookies()
  await save.click()
  await page.getByLabel('Admin token').waitFor()
  t.equal(files, 0)
})

test('each change is one sentence with its values behind a fold, and filtered by key and operator', async (t, open) => {
  const { url, ask, gateway } = await startAdmin(t)
  await gateway.stores.audit.add({
    ...{ atMs: Date.now(), by: 'alice', what: 'config.change', subject: 'gateway.yaml' },
    ...{ before: { 'plans.free.perMinute': 60 }, after: { 'plans.free.perMinute': 80 } },
  })
  for (const name of ['Acme', 'Other']) {
    const { key } = await gateway.key({ name })
    await ask('POST', `/admin/keys/${key.id}/disable`)
  }
  const page = await open(url, { place: 'audit' })
  const rows = page.getByRole('row').filter({ hasText: 'keys.disable' })
  await until(async () => (await rows.count()) === 2)
  await page.getByText('alice raised free to 80 a minute').waitFor()
  const change = page.getByRole('row').filter({ hasText: 'raised free' })
  t.notOk(await change.getByRole('listitem').first().isVisible())
  await change.getByText('config.change').press('Enter')
  t.match(await change.getByRole('listitem').innerText(), /^plans\.free\.perMinute: 60 80$/)
  await looksWell(t, page, 'audit-changes')
  await page.getByRole('link', { name: 'admin disabled “Acme”' }).press('Enter')
  await page.getByRole('cell', { name: 'admin disabled “Acme”' }).waitFor()
  await looksWell(t, page, 'audit-key')
  await go(page, 'audit')
  await page.getByLabel('Key', { exact: true }).fill('Acme')
  await page.keyboard.press('Enter')
  await until(async () => (await rows.count()) === 1)
  t.match(await page.locator('.same').innerText(), 'tollgate audit --key Acme')
  await page.getByLabel('By').fill('nobody')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing was changed').waitFor()
})

test('another backend that would break something is told', async (t, open) => {
  const { url } = await startAdmin(t, { upstreamMore: 'probes: [ { request: GET /v1/pets } ]' })
  const other = await startUpstream(t, (_request, response) => response.writeHead(404).end())
  const page = await open(url, { place: 'backends' })
  await page.getByLabel('Address').fill(other.url)
  await page.keyboard.press('Enter')
  await page.getByText('It would break callers.').waitFor()
  t.match(await page.getByRole('region', { name: 'Findings' }).innerText(), /404/)
})

test('the page of a caller tells no use of a window without a limit', async (t, open) => {
  const admin = await startWithRedis(t)
  const { key, headers } = await admin.gateway.key({
    name: 'Acme',
    limits: { perMinute: 'unlimited', perDay: 20 },
  })
  await admin.gateway.call('GET', '/v1/x', undefined, headers)
  const page = await open(admin.url, { place: `keys/${key.id}` })
  const bars = page.locator('.bars')
  await bars.waitFor()
  t.match(
    await bars.innerText(),
    /^This minute: no limit\s+Today: 1 of 20 used\s+until [\w ]+, 00:00, in [\dhmins ]+$/,
  )
})

test('Now shows what was sent, live', async (t, open) => {
  const admin = await startWithRedis(t)
  const { gateway } = admin
  const { key, headers } = await gateway.key({
    name: 'Acme',
    limits: { perMinute: 'unlimited', perDay: 20 },
  })
  const page = await open(admin.url)
  const sent = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      await gateway.call('GET', '/v1/x', undefined, { ...headers, 'x-request-id': `live-${i}` })
    }
  }
  await settled(page)
  await sent(25)
  const strip = page.locator('.strip')
  await strip.getByText('25 in the last minute').waitFor()
  await strip.getByText('5 requests').waitFor()
  for (const name of ['Gateway overhead', 'Backends’ time']) {
    const tile = await strip.locator('.tile', { hasText: name }).innerText()
    t.match(tile, /\np50 [\d.]+ ms\np99 [\d.]+ ms(\n▲ over .*)?$/)
  }
  await strip.getByText('20.0 %').or(strip.getByText('20 %')).first().waitFor()
  await page.getByRole('link', { name: 'Acme' }).first().waitFor()
  await page.getByText('Show as table').first().click()
  const numbers = page.getByRole('region', { name: /the sums of each minute/ }).locator('td.number')
  const sum = (await numbers.allInnerTexts()).reduce((all, each) => all + Number(each), 0)
  t.equal(sum, 25, 'the table beside the chart has the same')
  await page.getByRole('button', { name: 'Pause' }).click()
  await sent(1)
  await page.getByText('Paused at').waitFor()
  await until(async () => (await admin.ask('GET', '/admin/live')).text.includes('"requests":26'))
  t.equal(await strip.getByText('25 in the last minute').count(), 1)
  await page.getByRole('button', { name: 'Resume' }).click()
  await strip.getByText('26 in the last minute').waitFor()
  await gateway.app.front.flushCounts()
  await page.getByLabel('a day').check()
  await page.getByText('In 24 hours').first().waitFor()
  await picture(page, 'now-live')
  await page
    .getByRole('region', { name: /The latest/ })
    .getByRole('link')
    .first()
    .click()
  await page.getByText('429 rate_limit_exceeded.').waitFor()
  await page.getByRole('link', { name: 'Acme' }).click()
  await page.getByRole('heading', { name: 'Acme' }).waitFor()
  await page.getByText('by a ban or another reason', { exact: true }).first().waitFor()
  t.match(page.url(), key.id)
})

test('of many callers of what goes the first are shown, those with most calls', async (t, open) => {
  const { url, gateway } = await startAdmin(t, { more: retiring })
  const [day, lastMs] = [Math.floor(Date.now() / 86_400_000), Date.now()]
  const lines = await Promise.all(
    Array.from({ length: 25 }, async (_each, i) => {
      const { key } = await gateway.key({ name: `Caller ${i}` })
      return { day, key: key.id, what: deprecatedCall('GET /v1/old'), count: i + 1, lastMs }
    }),
  )
  await gateway.stores.tallies.add({ by: 'test', number: 1, lines })
  const page = await open(url, { place: 'deprecations' })
  await page.getByText('most calls first: the first 20 of 25', { exact: false }).waitFor()
  const callers = page.getByRole('region', { name: /^Keys that called it/ }).locator('tbody tr')
  t.match(await callers.allInnerTexts(), [/^Caller 24\s+25\s/, /^Caller 23\s+24\s/])
  t.equal(await callers.count(), 20)
  await page.getByRole('button', { name: 'Show all 25' }).press('Enter')
  await until(async () => (await callers.count()) === 25)
})

test('limits, grants and shadows are given by hand', async (t, open) => {
  const admin = await startWithRedis(t, {
    admin: saving,
    more: `${plans}
deprecations: [ { operation: "GET /v1/old", since: 2025-12-05, sunset: 2099-01-01 } ]`,
  })
  const { key, headers } = await admin.gateway.key({ name: 'Busy' })
  await admin.gateway.call('GET', '/v1/x', undefined, headers)
  const limits = async () => {
    const quota = json(await admin.gateway.call('GET', '/v1/quota', undefined, headers))
    return quota as Record<'minute' | 'day', { limit: number }>
  }
  const page = await open(admin.url, { place: `keys/${key.id}`, expected: /^400 PATCH/ })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const dialog = page.getByRole('dialog')

  await pressAction(page, 'Grant more')
  await dialog.getByRole('button', { name: 'Grant more' }).press('Enter')
  await dialog.getByText('Say how much more').waitFor()
  await dialog.getByLabel('More for today').fill('40')
  await dialog.getByLabel('Reason, for other operators').fill('A runaway job')
  await dialog.getByRole('button', { name: 'Grant more' }).press('Enter')
  await page.getByText(/40 for the day, by .+: A runaway job/).waitFor()
  await until(async () => (await limits()).day.limit === 1_040)

  await pressAction(page, 'Change plan or limits')
  await dialog.getByLabel('A minute').fill('0')
  await dialog.getByRole('button', { name: 'Change plan or limits' }).press('Enter')
  await dialog.getByRole('alert').waitFor()
  await dialog.getByLabel('A minute').fill('600')
  await dialog.getByRole('button', { name: 'Change plan or limits' }).press('Enter')
  await page.locator('.facts').getByText('600 a minute', { exact: true }).waitFor()
  await until(async () => (await limits()).minute.limit === 600)

  await page.goto(`${admin.url}/console/#/plans/free`)
  await page.getByLabel('A minute', { exact: true }).fill('30')
  await page.getByLabel('count only (shadow)').check()
  await page.locator('.diff .added').getByText('shadow: { perMinute: 30 }').waitFor()
  await button('Save').press('Enter')
  await dialog.getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByText('Every gateway runs it.').waitFor()
  await page.getByRole('heading', { name: 'Shadow limits' }).waitFor()
  await page.getByText('30 a minute, 1,000 a day.').waitFor()
})
