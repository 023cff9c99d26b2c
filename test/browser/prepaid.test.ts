import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { looksWell, pressAction, startBrowser } from '../support/browser.ts'
import { enterKey, startPages, visit } from '../support/portal-page.ts'

const { test } = await startBrowser(t)

const plans = `plans:
  free: { perMinute: 60, perDay: 1000 }
  bought: { perMinute: 60, perMonth: { limit: 2, beyond: prepaid } }
`

test('a key is topped up, and shows what is left', async (t, open) => {
  const { url, gateway } = await startAdmin(t, { more: plans })
  const { key, headers } = await gateway.key({ name: 'Buyer', plan: 'bought' })
  for (let i = 0; i < 3; i++) await gateway.call('GET', '/v1/x', undefined, headers)
  const page = await open(url, { place: `keys/${key.id}`, expected: /^409 POST/ })
  const dialog = page.getByRole('dialog')
  const bars = page.locator('.bars')
  await bars.getByText(/This month: 2 of 2 included, 0 bought points left/).waitFor()
  t.match(await page.locator('.actions').innerText(), /^Top up/, 'it is what helps')
  const topUp = async (points: string, id: string) => {
    await pressAction(page, 'Top up')
    await dialog.getByLabel('Points').fill(points)
    await dialog.getByLabel('Invoice, or what it is for').fill(id)
    await looksWell(t, page, 'prepaid-top-up')
    await dialog.getByRole('button', { name: 'Top up' }).press('Enter')
  }
  await topUp('5000', 'invoice-17')
  await bars.getByText(/2 of 2 included, 5,000 bought points left/).waitFor()
  await topUp('400', 'invoice-17')
  await dialog.getByText(/was a top-up of 5,000 points/).waitFor()
  await page.keyboard.press('Escape')
  await gateway.call('GET', '/v1/x', undefined, headers)
  await page.reload()
  await bars.getByText(/3 of 2 included, 4,999 bought points left/).waitFor()
  await looksWell(t, page, 'prepaid-key')
})

test('a caller sees what is left, and what its plan includes', async (t, open) => {
  const gateway = await startPages(t, { more: plans })
  const { key, token } = await gateway.key({ name: 'Buyer', plan: 'bought' })
  await gateway.stores.quota.topUp(`key:${key.id}`, { id: 'a', points: 70, by: 'me' })
  const page = await visit(open, gateway.url)
  await page.getByText('2 included, then what was bought').first().waitFor()
  await enterKey(page, token)
  await page.getByText(/This month: 0 of 2 included, 70 bought points left/).waitFor()
  await looksWell(t, page, 'prepaid-caller')
})
