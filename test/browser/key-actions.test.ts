import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import {
  focused,
  furnish,
  go,
  looksWell,
  pressAction,
  startBrowser,
  startWithRedis,
} from '../support/browser.ts'
import { json } from '../support/http.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import type { Page } from 'playwright-core'

const { test } = await startBrowser(t)

/** The background of the page's main button, and of its others. */
function colours(page: Page): Promise<string[][]> {
  return page.evaluate<string[][]>(
    `[':first-child > button', ':not(:first-child) > button'].map((part) =>
      [...document.querySelectorAll('.actions > ' + part)].map((button) =>
        getComputedStyle(button).backgroundColor))`,
  )
}

test('the action that is needed is filled, others are in a menu, and Revoke is apart', async (t, open) => {
  const admin = await startWithRedis(t)
  const { key } = await furnish(admin)
  const path = `/admin/keys/${key.id}`
  const page = await open(admin.url, { place: `keys/${key.id}` })
  const group = page.getByRole('group', { name: 'What can be done' })
  const shown = () => group.getByRole('button').allInnerTexts()
  const isShown = (...names: string[]) =>
    until(async () => JSON.stringify(await shown()) === JSON.stringify(names), 8_000)
  await admin.ask('PUT', `/admin/bans/${key.id}`, { for: '30m' })
  await isShown('Lift the ban', 'More', 'Revoke')
  const [main = [], rest = []] = await colours(page)
  t.equal(main.length, 1)
  t.notOk(rest.includes(main[0] ?? ''), 'one button is filled')
  await looksWell(t, page, 'key-banned')

  const more = group.getByRole('button', { name: 'More' })
  await more.press('Enter')
  await isShown(
    ...['Lift the ban', 'More', 'Change plan or limits', 'Grant more', 'Reset the quota'],
    ...['Rotate the token', 'Disable', 'Revoke'],
  )
  await looksWell(t, page, 'key-menu')
  await page.setViewportSize({ width: 320, height: 800 })
  const box = await page.locator('#actions').boundingBox()
  t.ok(box && box.x >= 0 && box.x + box.width <= 320, 'the menu is on a narrow screen')
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.keyboard.press('Escape')
  await isShown('Lift the ban', 'More', 'Revoke')
  t.equal(await focused(page), 'More')

  await more.press('Enter')
  for (const name of ['Change plan or limits', 'Grant more', 'Reset the quota']) {
    await page.keyboard.press('Tab')
    t.equal(await focused(page), name)
  }
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await admin.ask('DELETE', `/admin/bans/${key.id}`)
  await until(async () => !/banned/.test(await page.locator('.sentence').innerText()), 8_000)
  await dialog.getByText('This resets its own counters').waitFor()
  await dialog.getByRole('button', { name: 'Reset the quota' }).press('Enter')
  await dialog.waitFor({ state: 'hidden' })
  await until(async () => (await focused(page)) === 'More')
  await isShown('Change plan or limits', 'More', 'Revoke')
  await admin.ask('POST', `${path}/disable`)
  await isShown('Enable', 'More', 'Revoke')
  await admin.ask('POST', `${path}/enable`)

  await page.getByRole('button', { name: 'Revoke' }).press('Enter')
  await dialog.getByLabel('Type Acme to confirm').fill('Acme')
  await looksWell(t, page, 'key-revoke')
  await dialog.getByRole('button', { name: 'Revoke' }).press('Enter')
  await group.waitFor({ state: 'detached' })
  t.pass('nothing can be done for a key that has ended')
})

test('a key is banned with a reason, which is told until the ban is lifted', async (t, open) => {
  const { url, gateway } = await startAdmin(t)
  const { key, headers } = await gateway.key({ name: 'Acme' })
  const page = await open(url, { place: `keys/${key.id}` })
  await pressAction(page, 'Ban')
  const dialog = page.getByRole('dialog', { name: 'Ban' })
  await dialog.getByText('Every request of “Acme” gets 429').waitFor()
  await dialog.getByRole('combobox').selectOption('an hour')
  await dialog.getByLabel('Reason').fill('scrapes the catalogue')
  await looksWell(t, page, 'key-ban')
  await dialog.getByRole('button', { name: 'Ban' }).press('Enter')
  await page
    .getByText(/is banned until .*scrapes the catalogue/)
    .first()
    .waitFor()
  t.equal((await gateway.call('GET', '/v1/pets', undefined, headers)).status, 429)
  await pressAction(page, 'Lift the ban')
  await page.getByRole('dialog').getByRole('button', { name: 'Lift the ban' }).press('Enter')
  await until(async () => (await gateway.call('GET', '/v1/x', undefined, headers)).status === 200)
})

test('a key whose plan is gone has none chosen, and the form waits for one', async (t, open) => {
  const { url, gateway, write, ask } = await startAdmin(t)
  const { key } = await gateway.key({ name: 'Acme', plan: 'pro' })
  write((text) => text.replace(/^ +pro: .*\n/m, ''))
  t.equal((await ask('POST', '/admin/config/reload')).status, 200)
  const page = await open(url, { place: `keys/${key.id}` })
  await pressAction(page, 'Change plan or limits')
  const dialog = page.getByRole('dialog')
  const plan = dialog.locator('select[name=plan]')
  await until(async () => (await plan.locator('option').count()) > 1)
  t.equal(await plan.inputValue(), '')
  await dialog.getByRole('button', { name: 'Change plan or limits' }).press('Enter')
  await dialog.locator('select[name=plan]:invalid:focus').waitFor()
  t.pass('it says that a plan is missing')
})

test('what a dialog of the menu did is told also if it was closed meanwhile', async (t, open) => {
  const redis = await startRedis(t)
  t.teardown(() => redis.child().kill('SIGCONT'))
  const { url, gateway } = await startAdmin(t, { store: `redis: "${redis.url}", timeout: 5s` })
  const { key } = await gateway.key({ name: 'Acme' })
  const page = await open(url, { place: `keys/${key.id}`, expected: /^503 / })
  const dialog = page.getByRole('dialog')
  const rotate = dialog.getByRole('button', { name: 'Rotate', exact: true })
  const leave = async (): Promise<void> => {
    redis.child().kill('SIGSTOP')
    await rotate.press('Enter')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
  }
  await pressAction(page, 'Rotate the token')
  await leave()
  await dialog.getByRole('alert').waitFor()
  redis.child().kill('SIGCONT')
  await until(async () => {
    if (!(await dialog.isVisible())) await pressAction(page, 'Rotate the token')
    await leave()
    redis.child().kill('SIGCONT')
    // An answer that came before it was closed doesn't open it again.
    const isBack = await dialog.waitFor({ timeout: 3_000 }).then(
      () => true,
      () => false,
    )
    return isBack && (await dialog.locator('.token').count()) === 1
  }, 30_000)
  await dialog.getByRole('button', { name: 'Done' }).press('Enter')
  await dialog.waitFor({ state: 'hidden' })
  await until(async () => (await focused(page)) === 'More')
})

test('a key that has expired gets another end', async (t, open) => {
  const { url, ask, gateway } = await startAdmin(t)
  const { key } = await gateway.key({ name: 'Acme', expiresAtMs: Date.now() + 1_000 })
  const page = await open(url, { place: `keys/${key.id}` })
  await page.getByText('“Acme” is refused: expired').waitFor({ timeout: 8_000 })
  const dialog = page.getByRole('dialog')
  const change = async (end: string): Promise<unknown> => {
    await pressAction(page, 'Change plan or limits')
    await dialog.getByLabel('Expires').fill(end)
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'hidden' })
    return json(await ask('GET', `/admin/keys/${key.id}`))
  }
  t.match(await change('2099-01-01T10:30'), {
    state: 'active',
    expiresAt: '2099-01-01T10:30:00.000Z',
  })
  await page.locator('.facts').getByText('1 Jan 2099, 10:30').waitFor()
  t.notOk('expiresAt' in ((await change('')) as object))
})

test('a key that has used up a limit is granted more', async (t, open) => {
  const admin = await startWithRedis(t)
  const { key, headers } = await admin.gateway.key({ name: 'Acme', limits: { perDay: 2 } })
  for (let i = 0; i < 2; i++) await admin.gateway.call('GET', '/v1/x', undefined, headers)
  const page = await open(admin.url)
  await go(page, `keys/${key.id}`)
  const main = page.locator('.actions > :first-child > button')
  t.equal(await main.innerText(), 'Grant more')
  await main.press('Enter')
  await page.getByRole('dialog').getByLabel('More for today').fill('10')
  await page.keyboard.press('Enter')
  await until(async () => (await main.innerText()) === 'Change plan or limits')
  t.match(await page.locator('.bars').innerText(), 'Today: 2 of 12 used')
})
