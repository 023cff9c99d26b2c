import { readFileSync } from 'node:fs'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { focused, go, looksWell, settled, startBrowser } from '../support/browser.ts'
import { json } from '../support/http.ts'
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

test('several keys are changed at once, and those that failed are told', async (t, open) => {
  const { url, ask, gateway } = await startAdmin(t, { more: plans })
  for (const name of Object.keys(requests)) await gateway.key({ name, plan: 'pro' })
  const all = json(await ask('GET', '/admin/keys')) as unknown as { id: string; name: string }[]
  const stateOf = async (): Promise<string> => {
    const keys = json(await ask('GET', '/admin/keys?all')) as unknown as Record<string, string>[]
    return keys
      .sort((a, b) => ((a['name'] ?? '') < (b['name'] ?? '') ? -1 : 1))
      .map(({ plan, state }) => `${plan} ${state}`)
      .join(', ')
  }
  const page = await open(url, { place: 'keys', expected: /^409 PATCH \/admin\/keys\// })
  await settled(page)
  const selected = page.getByRole('group', { name: 'Selected keys' })
  t.equal(await selected.count(), 0)
  for (const name of ['Acme', 'Cargo']) {
    await page.getByRole('checkbox', { name }).press(' ')
  }
  await selected.getByText('2 keys selected').waitFor()
  const dialog = page.getByRole('dialog')
  await selected.getByRole('button', { name: 'Disable' }).press('Enter')
  await dialog.getByText('2 keys will get 401 until enabled again: “Acme”, “Cargo”.').waitFor()
  t.equal(await stateOf(), 'pro active, pro active, pro active, pro active', 'a question first')
  await looksWell(t, page, 'keys-selected')
  await dialog.getByRole('button', { name: 'Disable' }).press('Enter')
  await page.getByRole('status').getByText('Disable: 2 keys done.').waitFor()
  t.equal(await stateOf(), 'pro disabled, pro active, pro disabled, pro active')
  t.equal(await focused(page), 'Disable', 'they are still selected')
  await selected.getByRole('button', { name: 'Enable' }).press('Enter')
  await dialog.getByRole('button', { name: 'Enable' }).press('Enter')
  await page.getByRole('status').getByText('Enable: 2 keys done.').waitFor()
  t.equal(await stateOf(), 'pro active, pro active, pro active, pro active')

  await page.getByRole('checkbox', { name: 'Select all on this page' }).press(' ')
  await selected.getByText('4 keys selected').waitFor()
  const cargo = all.find(({ name }) => name === 'Cargo')
  await selected.getByRole('button', { name: 'Change plan' }).press('Enter')
  await ask('POST', `/admin/keys/${cargo?.id}/revoke`)
  await dialog.getByLabel('Plan').selectOption('free')
  await dialog.getByRole('button', { name: 'Change plan' }).press('Enter')
  const told = page.getByRole('alert')
  await told.getByText('Change plan: 3 keys done, 1 failed:').waitFor()
  t.match(await told.getByRole('listitem').innerText(), /^Cargo: .* is revoked/)
  t.equal(await stateOf(), 'free active, free active, pro revoked, free active')
  await looksWell(t, page, 'keys-partly')
  await page.getByLabel('State').selectOption('active')
  await selected.waitFor({ state: 'detached' })
  t.pass('another list chooses nothing')
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

test('who may not change keys chooses none', async (t, open) => {
  const bob = 'token-of-bob-0123456789'
  const { url, gateway } = await startAdmin(t, { tokens: `bob/support:${bob}` })
  await gateway.key({ name: 'Acme' })
  const page = await open(url, { token: bob })
  await go(page, 'keys')
  t.equal(await page.locator('tbody a').count(), 1)
  t.equal(await page.getByRole('checkbox').count(), 0)
})
