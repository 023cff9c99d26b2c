import type { Page } from 'playwright-core'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { go, looksWell, picture, startBrowser } from '../support/browser.ts'
import { startUpstream } from '../support/gateway.ts'
import { token } from '../support/operator.ts'

const { test } = await startBrowser(t)

/** Takes a step of the way to another backend. */
function choose(page: Page, step: string): Promise<void> {
  return page.getByRole('radio', { name: step }).press(' ')
}

test('a backend that would break something says so, and what was found is kept', async (t, open) => {
  const admin = await startAdmin(t, {
    tokens: `alice:${token},bob/support:the-token-of-bob`,
    upstreamMore: 'probes: [ { request: GET /v1/pets } ]',
  })
  const other = await startUpstream(t, (_request, response) => {
    response.setHeader('content-type', 'application/json').end('{}')
  })
  const page = await open(admin.url, { place: 'backends' })
  const address = page.getByLabel('Address')
  await address.fill(other.url)
  await page.keyboard.press('Enter')
  await page.getByText('It would break callers.').waitFor()
  const found = page.getByRole('region', { name: 'Findings' })
  t.match(await found.innerText(), /GET \/v1\/pets\s+200, as now\s+200\s+\d+\s+\.up is missing/)

  await go(page, 'audit')
  await page.getByText('upstreams.check').first().waitFor()
  await go(page, 'backends')
  await found.waitFor()
  t.equal(await address.inputValue(), other.url, 'what was typed is kept')
  await looksWell(t, page, 'checked')
  await page.setViewportSize({ width: 320, height: 800 })
  t.equal(await page.evaluate('document.scrollingElement.scrollWidth'), 320)
  await picture(page, 'checked-320')

  const bobs = await open(admin.url, { place: 'backends', token: 'the-token-of-bob' })
  await bobs.getByLabel('Address').waitFor()
  t.equal(await bobs.getByText('2. Swap').count(), 0, 'a swap is not for every role')
})

test('an address is typed once, checked and swapped to, and the way back stays in view', async (t, open) => {
  const other = await startUpstream(t)
  const { url } = await startAdmin(t)
  const page = await open(url, { place: 'backends' })
  await page.getByLabel('Address').fill(other.url)
  await page.keyboard.press('Enter')
  await page.getByText('Nothing would break.').waitFor()
  await choose(page, '2. Swap')
  t.ok(await page.getByText('Nothing would break.').isVisible(), 'what was found stays')
  await page.getByLabel('Percent of callers').fill('10, 50')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Save', exact: true }).waitFor()
  t.match(await page.locator('.diff').innerText(), other.url)
  await go(page, 'now')
  await go(page, 'backends')
  await page.getByRole('button', { name: 'Save', exact: true }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).press('Enter')
  await page.getByText('Step 1 of 3: 10 % of the callers of animals').waitFor()
  const sides = page.getByRole('region', { name: 'Both sides in this step' })
  t.match(await sides.innerText(), other.url)
  t.match(await page.getByRole('list', { name: 'Steps' }).innerText(), /10 %, now\s+50 %\s+all/)
  await looksWell(t, page, 'swap')
  await page.setViewportSize({ width: 320, height: 600 })
  t.equal(await page.evaluate('document.scrollingElement.scrollWidth'), 320)
  await picture(page, 'swap-320')
  const back = page.getByRole('button', { name: 'Back', exact: true })
  await page.evaluate('scrollTo(0, document.scrollingElement.scrollHeight)')
  const { y = -1 } = (await back.boundingBox()) ?? {}
  t.ok(y >= 0 && y < 200, `it is in view at the end of the page: ${y}`)
  await go(page, 'now')
  await page.getByRole('link', { name: 'See both sides' }).waitFor()

  await go(page, 'backends')
  await back.press('Enter')
  await page.getByText('called it back').waitFor()
  t.ok(await back.isDisabled())
  await page.getByText('gateway.yaml says so already.').waitFor()
  await looksWell(t, page, 'swap-back')

  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Step 1 of 3:').waitFor()
  await page.getByRole('button', { name: 'Finish' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Finish' }).click()
  await page.getByText('All callers of animals go to').waitFor()
  await page.getByRole('button', { name: 'End the swap in the file' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('heading', { name: 'Swap of animals' }).waitFor({ state: 'detached' })
  t.equal(await back.count(), 0)
})

test('of several upstreams, one is chosen, and what was told of another address goes', async (t, open) => {
  const { url: plants } = await startUpstream(t)
  const { url, ask } = await startAdmin(t, {
    upstreamMore: `maxInFlight: 9 }, plants: { targets: [ "${plants}" ]`,
  })
  const page = await open(url, { place: 'backends' })
  const check = page.getByRole('button', { name: 'Check', exact: true })
  await page.getByLabel('Address').fill('http://127.0.0.1:1')
  await page.getByLabel('Upstream').selectOption('plants')
  await check.click()
  await page.getByText('It would break callers.').waitFor()
  t.match((await ask('GET', '/admin/audit?limit=1')).text, /"upstreams.check".*"subject":"plants"/)
  await page.getByLabel('Address').fill('http://127.0.0.1:2')
  await page.getByText('It would break callers.').waitFor({ state: 'detached' })
})
