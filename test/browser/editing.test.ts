import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { go, looksWell, saving, startBrowser } from '../support/browser.ts'
import { newGate } from '../support/gate.ts'
import { token } from '../support/operator.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const { test } = await startBrowser(t)

/** The field with the file, when the file is in it. */
async function fieldOf(page: Page, file: string) {
  const field = page.getByLabel(file, { exact: true })
  await until(async () => (await field.inputValue()) !== '')
  return { field, text: await field.inputValue() }
}

/** The words of the draft that are selected. */
function selected(page: Page): Promise<string> {
  return page.evaluate<string>(
    `(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.activeElement)`,
  )
}

test('a mistake leads to its line, and a text is saved unless somebody else was faster', async (t, open) => {
  const { url, file, write, ask } = await startAdmin(t, { admin: saving })
  const expected = /^412 PUT \/admin\/config\/file$/
  const page = await open(url, { place: 'configuration', expected })
  const { field, text } = await fieldOf(page, file)
  t.equal(text, readFileSync(file, 'utf8'))
  await field.fill(text.replace('perMinute: 60', 'perMinute: 6O'))
  const line = text.split('\n').findIndex((each) => each.includes('perMinute: 60')) + 1
  await page.getByRole('button', { name: `Line ${line}`, exact: true }).click()
  await until(async () => (await selected(page)).startsWith('6O'))
  t.match(await page.locator('.numbers').innerText(), `✗ ${line}\n`)
  t.ok(await page.getByText('This can’t be saved here: it has mistakes.').isVisible())
  t.equal(await page.getByRole('button', { name: 'Save', exact: true }).count(), 0)

  await field.fill(text + Array.from({ length: 130 }, (_, i) => `x${i}: 1\n`).join(''))
  await page.getByText('It has 130 mistakes:').waitFor()
  t.equal(await page.getByRole('button', { name: /^Line \d+$/ }).count(), 100)
  t.ok(await page.getByText('and 30 more', { exact: true }).isVisible())

  await field.fill(text.replace('perMinute: 60', 'perMinute: 61'))
  await page.getByText('plans.free.perMinute').waitFor()
  await go(page, 'plans')
  await go(page, 'configuration')
  t.match(await field.inputValue(), 'perMinute: 61', 'another page doesn’t end a draft')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Save', exact: true })
  await dialog.getByText('1 setting changes at once').waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Every gateway runs it.').waitFor()
  t.equal(readFileSync(file, 'utf8'), text.replace('perMinute: 60', 'perMinute: 61'))
  t.match((await ask('GET', '/admin/config')).text, '"perMinute":61')

  write((saved) => `${saved}# of somebody else\n`)
  await field.fill(text.replace('perMinute: 60', 'perMinute: 62'))
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('changed').waitFor()
  t.match(readFileSync(file, 'utf8'), /perMinute: 61[^]*# of somebody else\n$/)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Start over' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Start over' }).click()
  await until(async () => (await field.inputValue()).endsWith('# of somebody else\n'))
})

test('a text is checked once, when typing stops', async (t, open) => {
  const { url, file } = await startAdmin(t, { admin: saving })
  const page = await open(url, { place: 'configuration' })
  const { field } = await fieldOf(page, file)
  await page.getByText('The configuration is valid, and changes nothing').waitFor()
  let checks = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/admin/config/check')) checks++
  })
  // The page's time goes on by `runFor` alone, however slow this machine is.
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 60_000)
  await field.press('Control+End')
  for (const letter of '# a comment') {
    await page.keyboard.type(letter)
    await page.clock.runFor(300)
  }
  t.equal(checks, 0, 'none while it goes on')
  await page.clock.runFor(150)
  await until(() => checks === 1)
})

test('the page has the text in force, with the check of a change, its lines, and the gateway’s pace', async (t, open) => {
  const gate = newGate()
  const tokens = `${token},bob/read:the-token-of-bob`
  const admin = await startAdmin(t, { tokens, thread: { file: gate.file } })
  t.teardown(() => gate.open())
  const page = await open(admin.url, { place: 'configuration' })
  await page.getByText('admin.save is on by default here, because the store is embedded').waitFor()
  const { field, text } = await fieldOf(page, admin.file)
  t.equal(text, readFileSync(admin.file, 'utf8'))
  await page.getByText('The configuration is valid, and changes nothing').waitFor()

  gate.let('wait')
  const report = admin.ask('GET', '/admin/plans/free/demand')
  await gate.hasArrived()
  await field.fill(text.replace('perMinute: 60', 'perMinute: 61'))
  await page.getByText('Checking …').waitFor()
  t.equal(await page.locator('.diff').count(), 0)
  gate.open()
  await page.getByText('Checking …').waitFor({ state: 'detached' })
  await report
  t.match(await page.locator('.diff .taken').innerText(), /^-.*perMinute: 60/)
  t.match(await page.locator('.diff .added').innerText(), /^\+.*perMinute: 61/)
  await looksWell(t, page, 'configuration-changed')

  const other = await open(admin.url, { place: 'configuration' })
  const { field: unchanged } = await fieldOf(other, admin.file)
  admin.write((now) => `${now}# of somebody else\n`)
  await admin.ask('POST', '/admin/config/reload')
  await until(async () => (await unchanged.inputValue()).endsWith('# of somebody else\n'), 10_000)
  admin.write((now) => `${now}plams: {}\n`)
  await admin.ask('POST', '/admin/config/reload')
  await other.getByRole('alert').getByText('plams').first().waitFor()
  await until(async () => (await unchanged.inputValue()).endsWith('plams: {}\n'), 10_000)
  t.match(await field.inputValue(), 'perMinute: 61', 'a draft stays')

  const bobs = await open(admin.url, { place: 'configuration', token: 'the-token-of-bob' })
  await bobs.getByText('All settings, without secrets').waitFor()
  t.match(await bobs.locator('main pre').first().innerText(), '"perMinute": 60')
  t.equal(await bobs.getByLabel('Configuration', { exact: true }).inputValue(), '')
  await looksWell(t, bobs, 'configuration-unreadable')
})

test('where other gateways must get the file, nothing is saved, and they are named', async (t, open) => {
  const redis = await startRedis(t)
  const store = `redis: "${redis.url}"`
  const one = await startAdmin(t, { store, admin: saving })
  const two = await startAdmin(t, { store, upstream: one.gateway.upstream })
  await until(() => one.gateway.stores.fleet.size === 2)
  const page = await open(one.url, { place: 'configuration' })
  const { field, text } = await fieldOf(page, one.file)
  await field.fill(`${text}# more\n`)
  await page.getByText('The configuration is valid').waitFor()
  const why = await page.getByText('This can’t be saved here:').innerText()
  t.match(why, two.gateway.app.front.self.name)
  t.match(why, /Copy it instead/)
  t.equal(await page.getByRole('button', { name: 'Save', exact: true }).count(), 0)
})
