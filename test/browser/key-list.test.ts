import { readFileSync } from 'node:fs'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { go, looksWell, startBrowser } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { dayMs } from '../../shared/windows.ts'

const { test } = await startBrowser(t)

const plans =
  'plans: { free: { perMinute: 60, perDay: 1000 }, pro: { perMinute: 300, perDay: 9000 } }'

/** Keys by their names, with their requests of today. */
const requests = { Acme: [5, 40], Bolt: [500, 0], Cargo: [70, 7], Dune: [0, 0] } as const

test('keys are sorted by use, and saved as CSV', async (t, open) => {
  const { url, gateway } = await startAdmin(t, { more: plans, thread: {} })
  for (const name of Object.keys(requests)) await gateway.key({ name })
  const day = Math.floor(Date.now() / dayMs)
  const lines = []
  for await (const { id, name } of gateway.stores.keys.list()) {
    const [admitted, refused] = requests[name as keyof typeof requests]
    const of = { day, key: id, lastMs: 0 }
    lines.push({ ...of, what: 'admitted 2xx', count: admitted })
    lines.push({ ...of, what: 'refused rate_limit_exceeded minute', count: refused })
  }
  await gateway.stores.tallies.add({ by: 'test', number: 1, lines })
  const page = await open(url, { place: 'keys' })
  const shown = async () =>
    (await page.locator('tbody a').allInnerTexts()).map((name) => name.charAt(0)).join('')
  await page.getByText('4 keys', { exact: true }).waitFor()
  await until(async () => (await shown()) === 'ABCD')
  for (const [column, names] of [
    ['Admitted today', 'BCAD'],
    ['Refused today', 'ACBD'],
    ['Last used', 'ABCD'],
    ['Name', 'ABCD'],
    ['Admitted today', 'BCAD'],
  ] as const) {
    await page.getByRole('button', { name: column }).press('Enter')
    await until(async () => (await shown()) === names)
    t.match(await page.locator('th[aria-sort]').innerText(), column)
  }
  t.match(await page.locator('tbody tr').first().innerText(), /Bolt.*500/s)
  await looksWell(t, page, 'keys-sorted')
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save all as CSV' }).press('Enter')
  const saved = await saving
  t.equal(saved.suggestedFilename(), 'keys.csv')
  t.match(readFileSync(await saved.path(), 'utf8'), /"Cargo","free","","active","70","7"/)
})

test('sixteen keys are on a screen of 1280 × 800, whatever their names', async (t, open) => {
  const { url, gateway } = await startAdmin(t, { more: plans })
  for (let i = 0; i < 20; i++) {
    const name = `${i} International Logistics Company, production, of the north and of the west`
    await gateway.key({ name, ...(i % 2 ? { account: 'acme' } : {}) })
  }
  const page = await open(url, { place: 'keys', viewport: { width: 1280, height: 800 } })
  await page.getByText('20 keys', { exact: true }).waitFor()
  const rows = page.locator('tbody tr')
  const box = await rows.nth(15).boundingBox()
  t.ok(box && box.y + box.height <= 800)
  t.ok(box && box.height >= 32 && box.height <= 36)
  t.match(await rows.first().locator('.cut').first().getAttribute('title'), /^0 Inter.*west$/)
})

test('an account has a page with all its keys, which their pages lead to', async (t, open) => {
  const { url, gateway } = await startAdmin(t, { more: plans })
  const web = await gateway.key({ name: 'Web', account: 'acme' })
  await gateway.key({ name: 'Batch', account: 'acme', plan: 'pro' })
  await gateway.key({ name: 'Other' })
  for (let i = 0; i < 3; i++) await gateway.call('GET', '/v1/pets', undefined, web.headers)
  const page = await open(url, { place: `keys/${web.key.id}` })
  await page.locator('.facts').getByRole('link', { name: 'acme' }).press('Enter')
  await page.getByRole('heading', { name: 'Account acme' }).waitFor()
  await page.getByText('2 keys. They use up one quota').waitFor()
  t.match(await page.locator('tbody tr').allInnerTexts(), [
    /^Batch\s+pro\s+active\s+3 of (?:300|9,000) /,
    /^Web\s+free\s+active\s+3 of (?:60|1,000) /,
  ])
  await looksWell(t, page, 'account')
  await go(page, 'accounts/nobody')
  await page.getByText('No key has this account').waitFor()
})
