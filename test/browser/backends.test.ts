import type { Page } from 'playwright-core'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { go, looksWell, picture, startBrowser } from '../support/browser.ts'
import { startUpstream } from '../support/gateway.ts'
import { token } from '../support/operator.ts'
import { until } from '../support/until.ts'

const { test } = await startBrowser(t)

/** Takes a step of the way to another backend. */
function choose(page: Page, step: string): Promise<void> {
  return page.getByRole('radio', { name: step }).press(' ')
}

test('a backend is compared by real requests, until its operator stops it', async (t, open) => {
  const admin = await startAdmin(t, { tokens: `alice:${token},bob/support:the-token-of-bob` })
  const { call, key } = admin.gateway
  const { headers } = await key({ plan: 'pro' })
  const other = await startUpstream(t, (_request, response) => {
    response.setHeader('content-type', 'application/json').end('{}')
  })
  const page = await open(admin.url, { place: 'backends' })
  const address = page.getByLabel('Address')
  await address.fill(other.url)
  await choose(page, '2. Compare')
  await page.getByLabel('Share').fill('100%')
  await page.keyboard.press('Enter')
  await page.getByText(`No request was compared with ${other.url} yet.`).waitFor()
  await call('GET', '/v1/pets', undefined, { ...headers, 'x-request-id': 'order-66' })
  await page.getByText(`${other.url} would break 1 of 1 route`).waitFor()
  const found = page.getByRole('region', { name: 'Compared requests, by route' })
  t.match(await found.innerText(), /\.up is missing: 1\s+e\.g\. GET \/v1\/pets, order-66/)

  await go(page, 'audit')
  await page.getByText('upstreams.compare').first().waitFor()
  await call('GET', '/v1/pets', undefined, headers)
  await go(page, 'backends')
  await found.getByText('.up is missing: 2').waitFor()
  t.equal(await address.inputValue(), other.url, 'what was typed is kept')
  await looksWell(t, page, 'comparing')
  await page.setViewportSize({ width: 320, height: 800 })
  t.equal(await page.evaluate('document.scrollingElement.scrollWidth'), 320)
  await picture(page, 'comparing-320')

  const stop = page.getByRole('button', { name: 'Stop' })
  await stop.focus()
  await page.keyboard.press('Enter')
  await page.getByText('You have stopped it.').waitFor()
  t.ok(await page.getByRole('button', { name: 'Compare', exact: true }).isEnabled())
  const again = { url: other.url, for: '1s' }
  const path = '/admin/upstreams/compare'
  await until(async () => (await admin.ask('POST', path, again)).status === 200)

  const bobs = await open(admin.url, { place: 'backends', token: 'the-token-of-bob' })
  await bobs.getByLabel('Address').waitFor()
  t.equal(await bobs.getByText('2. Compare').count(), 0, 'it is not for every role')
})

test('an address is typed once, checked, compared and swapped to, and the way back stays in view', async (t, open) => {
  const other = await startUpstream(t)
  const { url, gateway } = await startAdmin(t)
  const page = await open(url, { place: 'backends' })
  await page.getByLabel('Address').fill(other.url)
  await page.keyboard.press('Enter')
  await page.getByText('Nothing would break.').waitFor()
  await choose(page, '2. Compare')
  await page.getByLabel('Share').fill('100%')
  await page.keyboard.press('Enter')
  await page.getByText('No request was compared').waitFor()
  const { headers } = await gateway.key({ plan: 'pro' })
  await gateway.call('GET', '/v1/pets', undefined, headers)
  await page.getByText('Nothing breaks so far: 1 request').waitFor()
  t.ok(await page.getByText('Nothing would break.').isVisible(), 'what was found stays')
  await choose(page, '3. Swap')
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
