import { readFileSync } from 'node:fs'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import {
  go,
  looksWell,
  picture,
  pressAction,
  saving,
  settled,
  startBrowser,
} from '../support/browser.ts'
import { json } from '../support/http.ts'
import { newKey } from '../contracts/keys.ts'
import { peak } from '../support/filled-store.ts'
import { until } from '../support/until.ts'
import { dayMs } from '../../shared/windows.ts'
import type { Page } from 'playwright-core'

const { test } = await startBrowser(t)

const more = `plans:
  free: { perMinute: 60, perDay: 1000 }
  pro: { perMinute: 300, perDay: 10000, perMonth: 50000 }
  own: custom`

/** The cells of a plan's row. */
async function rowOf(page: Page, name: string): Promise<string> {
  return (await page.getByRole('row', { name }).getByRole('cell').allInnerTexts()).join(' | ')
}

test('plans tell of their keys, quotas near a limit, refusals and months', async (t, open) => {
  const { url, gateway } = await startAdmin(t, { more, thread: {} })
  const page = await open(url, { place: 'plans' })
  await settled(page)
  t.equal(await rowOf(page, 'free'), 'free | 60 | 1,000 | unlimited | 0 | 0 | 0 | 0 | 0 | on')
  await picture(page, 'plans-of-no-keys')
  const { keys, tallies, peaks } = gateway.stores
  const day = Math.floor(Date.now() / dayMs)
  const [one, two, gone] = ['free', 'free', 'gone'].map((plan) => newKey({ plan }))
  if (!one || !two || !gone) return
  await keys.add([one, two, gone])
  const of = { day, key: one.id, lastMs: 0 }
  await tallies.add({
    ...{ by: 'test', number: 1 },
    lines: [
      { ...of, what: 'admitted 2xx', count: 1_234 },
      { ...of, what: 'refused rate_limit_exceeded minute', count: 96 },
    ],
  })
  await peaks.add({
    ...{ by: 'test', number: 1 },
    lines: [peak(`key:${two.id}`, { day, most: { minute: 48, day: 48 } })],
  })
  await page.reload()
  await settled(page)
  await until(async () => {
    const row = await rowOf(page, 'free')
    return row === 'free | 60 | 1,000 | unlimited | 2 | 1 | 96 | 1,234 | 0 | on'
  })
  t.match(
    await page.getByText('The configuration has no plan').innerText(),
    / gone: 403 for 1 key\./,
  )
  await looksWell(t, page, 'plans-used')
  await page.getByRole('link', { name: 'free' }).press('Enter')
  await page.getByText('Other limits').waitFor()
  t.pass('its page changes its limits')
})

test('a new plan is checked, shown as a change of the file, and saved', async (t, open) => {
  const { url, file, gateway } = await startAdmin(t, { more, admin: saving })
  const page = await open(url, { place: 'plans' })
  await page.locator('summary', { hasText: 'New plan' }).press('Enter')
  const name = page.getByLabel('Name')
  const show = page.getByRole('button', { name: 'Show the change' })
  const isFit = (): Promise<boolean> =>
    name.evaluate((field: { validity: { valid: boolean } }) => field.validity.valid)
  for (const text of ['free', 'Gold', '9th', 'a.b', '']) {
    await name.fill(text)
    t.notOk(await isFit(), text)
  }
  await name.fill('gold-2')
  t.ok(await isFit())
  await page.getByLabel('A minute').fill('0')
  await show.press('Enter')
  await page.getByText('plans.gold-2.perMinute must be a whole number above 0').waitFor()
  t.equal(await page.getByRole('button', { name: 'Save', exact: true }).count(), 0)
  await page.getByLabel('A minute').fill('600')
  await page.getByLabel('A day').fill('20000')
  await show.press('Enter')
  const added = page.locator('.diff .added')
  await added.getByText('gold-2: { perMinute: 600, perDay: 20000 }').waitFor()
  await looksWell(t, page, 'plans-new')
  await page.getByRole('button', { name: 'Save', exact: true }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByRole('link', { name: 'Watch the effect' }).press('Enter')
  await page.getByRole('heading', { name: 'Plan gold-2' }).waitFor()
  t.match(readFileSync(file, 'utf8'), /gold-2: \{ perMinute: 600, perDay: 20000 \}/)
  t.ok(gateway.app.config.plans.has('gold-2'), 'it is in force')
  await go(page, 'plans')
  t.match(await rowOf(page, 'gold-2'), /^gold-2 \| 600 \| 20,000/)
})

test('how much of a plan is used is read by pointer and arrow keys', async (t, open) => {
  const { url, gateway } = await startAdmin(t)
  for (const times of [2, 5, 5]) {
    const { headers } = await gateway.key()
    for (let i = 0; i < times; i++) await gateway.call('GET', '/v1/pets', undefined, headers)
  }
  await gateway.app.front.flushCounts()
  const page = await open(url, { place: 'plans/free' })
  const chart = page.locator('figure.chart').first()
  await chart.getByText('0 of 3 quotas used more than 60 a minute.').waitFor()
  const drawing = chart.locator('svg')
  await drawing.press('ArrowLeft')
  await chart.getByText('2 of 3 quotas used at least 5 a minute.').waitFor()
  await drawing.press('ArrowLeft')
  t.equal(await drawing.getAttribute('aria-valuetext'), '3 of 3 quotas used at least 2 a minute.')
  await drawing.press('Tab')
  await chart.getByText('0 of 3 quotas used more than 60 a minute.').waitFor()
  await drawing.hover({ position: { x: 45, y: 50 } })
  await chart.getByText('3 of 3 quotas used at least 2 a minute.').waitFor()
})

test('an edit of a plan keeps what it meters, and says it', async (t, open) => {
  const { url, file } = await startAdmin(t, {
    more: `plans:
  pro:
    perMinute: 60
    perDay: { limit: 300, beyond: meter, upTo: 300% } # as agreed`,
    ...{ admin: saving, thread: {} },
  })
  const page = await open(url, { place: 'plans/pro' })
  await page.getByText('60 a minute, 300 included, metered up to 900 a day.').waitFor()
  const day = page.getByLabel('A day', { exact: true })
  t.equal(await day.inputValue(), '300..300%')
  const slider = page.getByLabel('Another limit a day')
  t.equal(await slider.inputValue(), '300')
  await slider.press('ArrowRight')
  t.equal(await day.inputValue(), '301..300%')
  await day.fill('400..250%')
  await looksWell(t, page, 'plan-metered')
  await page.getByRole('button', { name: 'Save', exact: true }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByRole('link', { name: 'Watch the effect' }).waitFor()
  t.match(
    readFileSync(file, 'utf8'),
    /perMinute: 60\n    perDay: \{ limit: 400, beyond: meter, upTo: 250% \} # as agreed\n/,
  )
})

test('operations and requests at once are edited, and another edit keeps what it doesn’t change', async (t, open) => {
  const { url, file, ask } = await startAdmin(t, {
    more: `plans:
  pro:
    perMinute: 60
    perDay: { limit: 300, beyond: meter, upTo: 300% } # as agreed
    atOnce: { limit: 20, linger: 2s } # since May
    operations:
      exports: { methods: [POST], paths: [/v1/exports], perHour: 5, atOnce: 1 } # dear ones`,
    ...{ admin: saving, thread: {} },
  })
  const page = await open(url, { place: 'plans/pro' })
  const save = async (): Promise<string> => {
    await page.getByRole('button', { name: 'Save', exact: true }).press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByText('Every gateway runs it.').waitFor()
    return readFileSync(file, 'utf8')
  }
  await page.getByText('In flight at once: 20.').waitFor()
  await page.getByLabel('A minute', { exact: true }).fill('50')
  await page.getByText('0 of 0 quotas would have been refused').waitFor()
  t.match(
    await save(),
    /perMinute: 50\n {4}perDay: .* # as agreed\n {4}atOnce: .*2s \} # since May\n.*\n.*atOnce: 1 \} # dear ones\n/,
  )

  await page.reload()
  await page.getByRole('button', { name: 'Change them' }).press('Enter')
  const show = page.getByRole('button', { name: 'Show the change' })
  const of = (name: string) => page.getByRole('group', { name })
  await show.press('Enter')
  await page.getByText('Nothing is changed.').waitFor()
  const atOnce = of('In flight at once').getByLabel('At once')
  t.equal(await atOnce.inputValue(), '20, linger 2s')
  await atOnce.fill('30, linger 2s')
  await of('Operation exports').getByLabel('An hour').fill('7')
  await of('Operation exports').getByLabel('Paths').fill('/v1/exports /v1/exports/*')
  const another = of('A new operation')
  await another.getByLabel('Name').fill('imports')
  await another.getByLabel('Methods').fill('PUT')
  await another.getByLabel('At once').fill('2')
  await show.press('Enter')
  await page.locator('.diff .added').first().waitFor()
  await looksWell(t, page, 'plan-operations')
  t.match(
    await save(),
    /perMinute: 50\n {4}perDay: .* # as agreed\n {4}atOnce: \{ limit: 30, linger: 2s \} # since May\n/,
  )
  const { config } = JSON.parse((await ask('GET', '/admin/config')).text) as {
    config: { plans: Record<string, unknown> }
  }
  t.match(config.plans['pro'], {
    perDay: { limit: 300, beyond: 'meter', upTo: '300%' },
    operations: {
      exports: {
        methods: ['POST'],
        paths: ['/v1/exports', '/v1/exports/*'],
        perHour: 7,
        atOnce: 1,
      },
      imports: { methods: ['PUT'], atOnce: 2 },
    },
  })

  for (const [name, left] of [
    ['exports', /operations:\n {6}imports: \{ methods: \[ ?PUT ?\], atOnce: 2 \}\n/],
    ['imports', /pro:\n {4}perMinute: 50\n {4}perDay: .* # as agreed\n(?! {4})/],
  ] as const) {
    await page.reload()
    await page.getByRole('button', { name: 'Change them' }).press('Enter')
    await page.getByLabel(`Remove ${name}`).check()
    await atOnce.fill('')
    await show.press('Enter')
    await page.locator('.diff .taken').first().waitFor()
    t.match(await save(), left)
  }
})

test('a key gets a limit of requests at once, and loses it', async (t, open) => {
  const { url, ask, gateway } = await startAdmin(t)
  const { key } = await gateway.key({ name: 'Acme', account: 'acme' })
  const page = await open(url, { place: `keys/${key.id}` })
  const dialog = page.getByRole('dialog')
  const settings = async (): Promise<unknown> => json(await ask('GET', `/admin/keys/${key.id}`))
  const fill = async (own: string, cap: string): Promise<void> => {
    await pressAction(page, 'Change plan or limits')
    await dialog
      .getByRole('group', { name: /^Custom/ })
      .getByLabel('At once')
      .fill(own)
    await dialog.getByRole('group', { name: /^Cap/ }).getByLabel('At once').fill(cap)
    await dialog.getByRole('button', { name: 'Change plan or limits' }).press('Enter')
    await dialog.waitFor({ state: 'hidden' })
  }
  await fill('5', '2')
  await page.locator('.facts').getByText('5 at once').waitFor()
  t.match(await settings(), { limits: { atOnce: 5 }, cap: { atOnce: 2 } })
  await fill('', '')
  await until(async () => !JSON.stringify(await settings()).includes('"cap":{'))
  t.notMatch(await settings(), { limits: {} })
})
