import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { KeyView } from '../../gateway/front/keys/view.ts'
import { startAdmin } from '../support/admin.ts'
import { barsOf, go, looksWell, pressAction, settled, startBrowser } from '../support/browser.ts'
import { enterKey, startPages, visit } from '../support/portal-page.ts'
import { until } from '../support/until.ts'

const { test } = await startBrowser(t)

/** A plan with two operations beside others without. */
const plans = `plans:
  free: { perMinute: 60, perDay: 1000 }
  busy:
    perMinute: 60
    perDay: 1000
    operations:
      exports: { methods: [POST], paths: [/v1/exports, /v1/exports/*], perHour: 5, perDay: 20 }
      writes: { methods: [POST, PUT], perMinute: 30 }
  own: { limits: custom, operations: { reads: { methods: [GET], perSecond: 9 } } }
`

/** The bars of a key of the plan with operations. */
const barsOfBusy = [
  ...['This minute', 'Today'],
  ...['exports, this hour', 'exports, today', 'writes, this minute'],
]

const factsOf = (page: Page) => page.locator('main .facts').innerText()

/** A key of the plan with operations, with a cap, which both refuse; `exported` and `capped` are the last requests. */
async function startRefused(t: Test) {
  // The hour doesn't end while they are sent.
  const nowMs = Date.now()
  const admin = await startAdmin(t, { more: plans, clock: () => nowMs })
  const { gateway, ask } = admin
  const settings = { name: 'Batch', plan: 'busy', account: 'acme', cap: { perHour: 7 } }
  const { key, headers } = await gateway.key(settings)
  const post = (path: string, id: string) =>
    gateway.call('POST', path, undefined, { ...headers, 'x-request-id': id })
  for (let i = 0; i < 6; i++) await post('/v1/exports', 'exported')
  for (let i = 0; i < 3; i++) await post('/v1/x', 'capped')
  await until(async () => (await ask('GET', '/admin/requests/capped')).status === 200)
  await gateway.app.front.flushCounts()
  return { ...admin, key }
}

test('the page of plans and a plan’s own show its operations, and no others have room for them', async (t, open) => {
  const { url } = await startAdmin(t, { more: plans })
  const page = await open(url, { place: 'plans' })
  const row = page.getByRole('row', { name: /^busy / })
  t.match(await row.innerText(), /exports: 5 an hour, 20 a day\s+writes: 30 a minute/)
  await looksWell(t, page, 'operations-plans')
  await go(page, 'plans/busy')
  const operations = page.getByRole('region', { name: /^Requests with limits/ })
  const text = await operations.innerText()
  t.match(text, /exports\s+POST at \/v1\/exports, \/v1\/exports\/\*\s+5 an hour, 20 a day/)
  t.match(text, /writes\s+POST, PUT\s+30 a minute/)
  await looksWell(t, page, 'operations-plan')
  await go(page, 'plans/own')
  t.match(await operations.innerText(), /reads\s+GET\s+9 a second/)
  await go(page, 'plans/free')
  await page.getByRole('heading', { name: 'Other limits' }).waitFor()
  t.equal(await operations.count(), 0)

  const plain = await startAdmin(t)
  const without = await open(plain.url, { place: 'plans' })
  await settled(without)
  t.equal(await without.getByRole('columnheader', { name: 'Operations' }).count(), 0)
  await looksWell(t, without, 'operations-none')
})

test('a key shows how it stands in its operations and its cap, and what they have refused', async (t, open) => {
  const { url, key, ask, gateway } = await startRefused(t)
  await ask('POST', `/admin/quota/${key.id}/month`, { monthFrom: 15 })
  const page = await open(url, { place: `keys/${key.id}` })
  t.strictSame(await barsOf(page), [...barsOfBusy, 'Cap, this hour'])
  t.match(await page.locator('.bars').allInnerTexts(), [
    /./,
    /exports, this hour: 5 of 5 used/,
    /writes, this minute: . of 30 used/,
    /Cap, this hour: 7 of 7 used/,
  ])
  t.match(await factsOf(page), /Cap inside its account\s+7 an hour\s+Billing day\s+15/)
  await page.getByText('hour of exports: 5 of 5 used').waitFor()
  await page.getByText('hour of the cap: 7 of 7 used').waitFor()
  await looksWell(t, page, 'operations-key')
  const told = async (name: string): Promise<string> => {
    await pressAction(page, name)
    const text = await page.getByRole('dialog').innerText()
    await page.keyboard.press('Escape')
    return text
  }
  t.match(await told('Grant more'), 'Operations and caps get none of them.')
  t.match(await told('Reset the quota'), 'all of its windows, operations and caps start over.')
  const { key: other } = await gateway.key({ name: 'Plain' })
  await go(page, `keys/${other.id}`)
  t.strictSame(await barsOf(page), ['This minute', 'Today'])
  t.notMatch(await factsOf(page), /Cap|Months/)
  t.notMatch(await told('Grant more'), /operations/)
  t.match(await told('Reset the quota'), 'all of its windows start over.')
})

test('lists of refusals and an explained request name the operation, or the cap', async (t, open) => {
  const { url } = await startRefused(t)
  const page = await open(url, { place: 'requests/exported' })
  await settled(page)
  t.match(await factsOf(page), /Reason\s+hour of exports/)
  await go(page, 'requests/capped')
  t.match(await factsOf(page), /Reason\s+hour of the cap/)
  await looksWell(t, page, 'operations-request')
  await go(page, 'now')
  const why = page.getByRole('cell', { name: /^hour of/ })
  await until(async () => (await why.count()) === 2)
  await page.getByLabel('Filter').fill('the cap')
  await until(async () => (await why.count()) === 1)
  t.strictSame(await why.allInnerTexts(), ['hour of the cap'])
})

test('a key of an account is made with a cap, and keeps, changes and loses it', async (t, open) => {
  const { url, ask } = await startAdmin(t, { more: plans })
  const page = await open(url, {
    place: 'keys',
    expected: /^400 (?:POST|PATCH) \/admin\/keys/,
  })
  const dialog = page.getByRole('dialog')
  const cap = dialog.getByRole('group', { name: /^Cap/ })
  await page.getByRole('button', { name: 'Create key' }).press('Enter')
  await dialog.getByLabel('Name').fill('Batch')
  t.equal(await cap.count(), 0, 'a key without an account has none')
  await dialog.getByLabel('Account').fill('acme')
  await cap.getByLabel('An hour').fill('none')
  await dialog.getByLabel('Test key').check()
  await looksWell(t, page, 'operations-make-key')
  const make = dialog.getByRole('button', { name: 'Create key' })
  const isRefused = (sentence: RegExp) => dialog.getByRole('alert').getByText(sentence).waitFor()
  await make.press('Enter')
  await isRefused(/cap\.perHour/)
  await cap.getByLabel('An hour').fill('70')
  await make.press('Enter')
  await isRefused(/test key has a quota of its own/)
  await dialog.getByLabel('Test key').uncheck()
  await make.press('Enter')
  await dialog.getByText('Copy the token now').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).press('Enter')
  await page.getByRole('button', { name: 'Create key' }).press('Enter')
  t.equal(await cap.count(), 0, 'the next key has no account yet')
  const batch = async () => {
    const keys = JSON.parse((await ask('GET', '/admin/keys?search=Batch')).text) as KeyView[]
    return keys[0]
  }
  t.strictSame((await batch())?.cap, { perHour: 70 })

  await go(page, `keys/${(await batch())?.id}`)
  await pressAction(page, 'Change plan or limits')
  t.equal(await cap.getByLabel('An hour').inputValue(), '70')
  await cap.getByLabel('An hour').fill('')
  await cap.getByLabel('A month').fill('900')
  await looksWell(t, page, 'operations-change-key')
  const send = dialog.getByRole('button', { name: 'Change plan or limits' })
  await send.press('Enter')
  await until(async () => /Cap inside its account\s+900 a month/.test(await factsOf(page)))
  t.strictSame((await batch())?.cap, { perMonth: 900 })
  await page.getByText(/cap an hour 70 → none, cap a month none → 900/).waitFor()
  await pressAction(page, 'Change plan or limits')
  await cap.getByLabel('A month').fill('')
  await send.press('Enter')
  await until(async () => !(await factsOf(page)).includes('Cap'))
  t.equal((await batch())?.cap, undefined)
})

test('callers read which operations a plan limits, and how they stand in them and in their cap', async (t, open) => {
  const nowMs = Date.now()
  const { url, key, call } = await startPages(t, { more: plans, clock: () => nowMs })
  const settings = { plan: 'busy', account: 'acme', cap: { perMonth: 9 } }
  const { token, headers } = await key(settings)
  await call('POST', '/v1/exports', undefined, headers)
  const page = await visit(open, url)
  const region = page.getByRole('region', { name: 'Plans', exact: true })
  t.equal(
    (await region.getByRole('columnheader').allInnerTexts()).join(' | '),
    'Plan | a minute | a day | operations | only',
  )
  const row = region.getByRole('row', { name: /^busy / })
  t.match(
    await row.innerText(),
    'exports (POST at /v1/exports, /v1/exports/*): 5 an hour, 20 a day\nwrites (POST, PUT): 30 a minute',
  )
  const about = await page.getByRole('region', { name: 'Plans and limits' }).innerText()
  t.match(about, 'A request that a plan lists under operations has to fit into the limits there')
  t.match(about, 'an hour at minute 0')
  const refused = await page.getByRole('region', { name: 'When requests are refused' }).innerText()
  t.match(
    refused,
    'The second, the minute, the hour, or the day is used up: the message says which, and whether it is that of an operation, or of your key’s cap.',
  )
  t.notMatch(refused, /minute, hour/, 'a test key acts the windows of plans')
  await enterKey(page, token)
  t.strictSame(await barsOf(page), [...barsOfBusy, 'Cap, this month'])
  t.match(await page.locator('.bars').nth(1).innerText(), /exports, this hour: 1 of 5 used/)
  t.match(await page.locator('.bars').last().innerText(), /Cap, this month: 1 of 9 used/)
  await looksWell(t, page, 'operations-portal')

  const plain = await startPages(t)
  const without = await visit(open, plain.url)
  t.equal(await without.getByRole('columnheader', { name: 'operations' }).count(), 0)
  t.notMatch(await without.locator('main').innerText(), /an operation, or of|under operations/)
  await enterKey(without, (await plain.key()).token)
  t.strictSame(await barsOf(without), ['This minute', 'Today'])
  await looksWell(t, without, 'operations-portal-none')
})
