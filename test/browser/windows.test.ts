import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import {
  barsOf,
  go,
  looksWell,
  pressAction,
  saving,
  settled,
  startBrowser,
} from '../support/browser.ts'
import { enterKey, startPages, visit } from '../support/portal-page.ts'
import { until } from '../support/until.ts'

const { test } = await startBrowser(t)

/** A plan of all windows beside one that says what each must. */
const plans = `plans:
  free: { perMinute: 60, perDay: 1000 }
  wide: { perSecond: 20, perMinute: 300, perHour: 5000, perDay: 10000, perWeek: 50000, perMonth: 200000 }
  own: { limits: custom }
`

const allPresent = ['This second', 'This minute', 'This hour', 'Today', 'This week', 'This month']

test('a key shows the windows that limit it, and gets more of each', async (t, open) => {
  const { url, gateway } = await startAdmin(t, { more: plans })
  const wide = await gateway.key({ name: 'Wide', plan: 'wide' })
  const free = await gateway.key({ name: 'Free', plan: 'free' })
  await gateway.call('GET', '/v1/x', undefined, wide.headers)
  const page = await open(url, { place: `keys/${free.key.id}` })
  const dialog = page.getByRole('dialog')
  const fields = async (name: string): Promise<string[]> => {
    await pressAction(page, name)
    const labels = dialog.locator('label', { hasText: /^\s*(?:An? |More for )/ })
    return (await labels.allInnerTexts()).map((text) => text.trim())
  }
  t.strictSame(await barsOf(page), ['This minute', 'Today'])
  t.strictSame(await fields('Grant more'), ['More for today', 'More for this minute'])
  await page.keyboard.press('Escape')
  await looksWell(t, page, 'windows-key-of-two')

  await go(page, `keys/${wide.key.id}`)
  t.strictSame(await barsOf(page), allPresent)
  t.match(await page.locator('.bars').innerText(), /This month: 1 of 200,000 used/)
  const granted = await fields('Grant more')
  t.strictSame(granted, allPresent.map((each) => `More for ${each.toLowerCase()}`).reverse())
  await dialog.getByLabel('More for this month').fill('40')
  await dialog.getByLabel('More for this hour').fill('7')
  await dialog.getByRole('button', { name: 'Grant more' }).press('Enter')
  await page.getByText(/^7 for the hour, 40 for the month, by /).waitFor()
  await page.getByText(/This month: 1 of 200,040 used/).waitFor()

  const limits = await fields('Change plan or limits')
  t.strictSame(limits, ['A second', 'A minute', 'An hour', 'A day', 'A week', 'A month'])
  await dialog.getByLabel('A month').fill('900')
  await dialog.getByLabel('A second').fill('unlimited')
  await looksWell(t, page, 'windows-change-key')
  await dialog.getByRole('button', { name: 'Change plan or limits' }).press('Enter')
  await page.locator('.facts').getByText('unlimited a second, 900 a month').waitFor()
  await until(async () => (await barsOf(page)).join() === allPresent.slice(1).join())
  await looksWell(t, page, 'windows-key-of-six')
})

test('how many requests may be under way is told beside the windows', async (t, open) => {
  const more = 'plans: { free: { perMinute: 60, perDay: 1000, atOnce: 3 } }'
  const { url, key, app } = await startPages(t, { more })
  const one = await key({ account: 'acme', cap: { atOnce: 2 } })
  const told = { by: 'other', number: 1, settled: 0, held: new Map([['', 1]]) }
  await app.front.stores.quota.tellPlaces([{ quota: 'account:acme', told }])
  const page = await visit(open, url)
  t.match(await page.getByRole('row', { name: /^free/ }).innerText(), /60\s+1,000\s+3/)
  await enterKey(page, one.token)
  t.match(await page.locator('.bars').allInnerTexts(), [
    /In flight: 1 of 3/,
    /Cap, in flight: 0 of 2/,
  ])
  await looksWell(t, page, 'windows-at-once')

  const admin = await startAdmin(t, { more })
  const { key: mine } = await admin.gateway.key({ account: 'acme' })
  const console = await open(admin.url, { place: `keys/${mine.id}` })
  t.match(await console.locator('.bars').innerText(), /In flight: 0 of 3/)
})

test('a list of plans has a column for each window that one of them limits, and one of keys the nearest limit', async (t, open) => {
  const { url, gateway } = await startAdmin(t, { more: plans })
  const { headers } = await gateway.key({ name: 'Free', plan: 'free' })
  await gateway.key({ name: 'Wide', plan: 'wide' })
  await gateway.call('GET', '/v1/pets', undefined, headers)
  const page = await open(url, { place: 'keys' })
  await settled(page)
  const columns = async (): Promise<string> =>
    (await page.getByRole('columnheader').allInnerTexts()).join(' | ')
  t.match(await columns(), 'State | Account | Nearest limit | Admitted today')
  t.match(await page.locator('tbody tr').allInnerTexts(), [
    // A minute may end between the two.
    /^\s*Free\s+free\s+active\s+1 of (?:60 this minute|1,000 today)/,
    /^\s*Wide\s+wide\s+active\s+–/,
  ])
  await looksWell(t, page, 'windows-keys')
  await go(page, 'plans')
  t.equal(
    await columns(),
    'Plan | A second | A minute | An hour | A day | A week | A month | Keys | Near a limit today | Refused today | This month | Last month | Bans',
  )
  const row = (name: string) => page.getByRole('row', { name: new RegExp(`^${name} `) })
  t.match(
    await row('free').innerText(),
    /unlimited\s+60\s+unlimited\s+1,000\s+unlimited\s+unlimited/,
  )
  t.match(await row('own').innerText(), /(?:set\sper\skey\s+){6}/)
})

test('a key is made with limits of its own', async (t, open) => {
  const { url, ask } = await startAdmin(t, { more: plans })
  const page = await open(url, { place: 'keys' })
  await page.getByRole('button', { name: 'Create key' }).press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Mine')
  await dialog.getByRole('combobox', { name: /^Plan/ }).selectOption('own')
  await dialog.getByLabel('A minute').fill('10')
  await dialog.getByLabel('An hour').fill('70')
  await dialog.getByLabel('A day').fill('unlimited')
  await looksWell(t, page, 'windows-make-key')
  await dialog.getByRole('button', { name: 'Create key' }).press('Enter')
  await dialog.getByText('Copy the token now').waitFor()
  t.match(
    (await ask('GET', '/admin/keys?search=Mine')).text,
    '{"perMinute":10,"perHour":70,"perDay":"unlimited"}',
  )
})

test('a plan’s page tries a limit of any window', async (t, open) => {
  const { url, gateway, file } = await startAdmin(t, { more: plans, admin: saving })
  const { headers } = await gateway.key({ plan: 'wide' })
  await gateway.call('GET', '/v1/x', undefined, headers)
  await gateway.app.front.flushCounts()
  const page = await open(url, { place: 'plans/free', expected: /^400 POST .*preview$/ })
  const field = (name: string) => page.getByLabel(name, { exact: true })
  t.equal(await field('A month').inputValue(), 'unlimited')
  await field('A month').fill('500')
  t.match(await page.locator('.diff .added').innerText(), /perMonth: 500\b/)
  await looksWell(t, page, 'windows-plan-with-draft')
  await page.getByRole('button', { name: 'Save', exact: true }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByText('Every gateway runs it.').waitFor()
  t.match(readFileSync(file, 'utf8'), /free: \{ perMinute: 60, perDay: 1000, perMonth: 500 \}/)
  await go(page, 'plans/wide')
  await looksWell(t, page, 'windows-plan-of-six')
})

test('a request that the hour refused tells of the hour', async (t, open) => {
  const { url, ask, gateway } = await startAdmin(t, { more: plans })
  const { headers } = await gateway.key({ name: 'Hourly', limits: { perHour: 1 } })
  for (let i = 0; i < 3; i++) {
    await gateway.call('GET', '/v1/x', undefined, { ...headers, 'x-request-id': 'one-too-many' })
  }
  await until(async () => (await ask('GET', '/admin/requests/one-too-many')).status === 200)
  const page = await open(url, { place: 'requests/one-too-many' })
  await page.locator('main .facts').waitFor()
  const facts = await page.locator('main .facts').innerText()
  t.match(
    facts,
    /Reason\s+hour\s+Minute\s+1 of 60, until .*\s+Hour\s+1 of 1, until .*\s+Day\s+1 of/,
  )
  t.notMatch(facts, /Week|Month|Second/)
})

test('callers are told of the windows of the plans in force, and of no others', async (t, open) => {
  const words = async (page: Page): Promise<string> => {
    const parts = ['Plans and limits', 'When requests are refused']
    const texts = parts.map((name) => page.getByRole('region', { name }).innerText())
    return (await Promise.all(texts)).join('\n')
  }
  const two = await startPages(t)
  const page = await visit(open, two.url)
  const plain = await words(page)
  t.match(plain, 'says otherwise. In UTC, a minute begins at second 0 and a day at midnight. Keys')
  t.match(plain, 'The minute or the day is used up')
  t.match(plain, 'X-RateLimit-Notice: day; used=80')
  t.notMatch(plain, /week|month|an hour/)
  const { token: limited, headers: own } = await two.key({ limits: { perDay: 2 } })
  for (let i = 0; i < 5; i++) await two.call('GET', '/v1/pets', undefined, own)
  await two.app.front.flushCounts()
  await enterKey(page, limited)
  t.strictSame(await barsOf(page), ['This minute', 'Today'])
  await page.getByText('Show as table').click()
  await page.getByText('3 rate_limit_exceeded (3 by the day)').waitFor()
  await looksWell(t, page, 'windows-portal-of-two')

  const five = await startPages(t, { more: plans })
  const { token, headers } = await five.key({ plan: 'wide', limits: { perMonth: 6 } })
  for (let i = 0; i < 5; i++) await five.call('GET', '/v1/pets', undefined, headers)
  const other = await visit(open, five.url)
  const told = await words(other)
  t.match(told, /a week on Monday,? and a month on the first, or on the day that was agreed/)
  t.match(told, 'The second, the minute, the hour, the day, the week, or the month is used up')
  t.match(
    told,
    /From 80 % of the day, the week, or the month on, .*X-RateLimit-Notice: month; used=80/,
  )
  for (const act of ['second', 'minute', 'hour', 'day', 'week', 'month', 'ban']) {
    t.match(told, new RegExp(`\\b${act}\\b`), act)
  }
  const table = other.getByRole('region', { name: 'Plans' })
  t.strictSame(await table.getByRole('columnheader').allInnerTexts(), [
    'Plan',
    'a second',
    'a minute',
    'an hour',
    'a day',
    'a week',
    'a month',
    'only',
  ])
  await enterKey(other, token)
  t.strictSame(await barsOf(other), allPresent)
  await other.getByText('83 % of the month is used.').waitFor()
  await looksWell(t, other, 'windows-portal-of-six')
})
