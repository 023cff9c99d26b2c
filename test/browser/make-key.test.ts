import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { go, looksWell, startBrowser } from '../support/browser.ts'
import { json } from '../support/http.ts'

const { test } = await startBrowser(t)

const plans = 'plans: { free: { perMinute: 60, perDay: 1000 }, own: { limits: custom } }'

test('a key is made with all that the command takes, and the next one begins afresh', async (t, open) => {
  const { url, ask, gateway } = await startAdmin(t, { more: plans })
  await gateway.key({ name: 'Twin' })
  const page = await open(url, { place: 'keys', expected: /^400 POST \/admin\/keys/ })
  const dialog = page.getByRole('dialog')
  const plan = dialog.getByRole('combobox', { name: /^Plan/ })
  const make = dialog.getByRole('button', { name: 'Create key' })
  const begin = () => page.getByRole('button', { name: 'Create key' }).press('Enter')
  const fill = async (values: Readonly<Record<string, string>>): Promise<void> => {
    for (const [label, value] of Object.entries(values)) {
      await dialog.getByLabel(label).fill(value)
    }
  }
  await begin()
  t.notOk(await dialog.getByLabel('A minute').isVisible(), 'the plan has limits')
  await plan.selectOption('own')
  await fill({ Name: 'Twin', 'A minute': '7', 'A day': 'many' })
  await make.press('Enter')
  await dialog.getByRole('alert').getByText('limits.perDay').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  await begin()
  t.equal(await plan.inputValue(), 'free')
  t.equal(await dialog.getByLabel('Name').inputValue(), '')
  t.equal(await dialog.getByRole('alert').count(), 0)

  await plan.selectOption('own')
  await fill({ Name: 'Twin', 'A minute': '7', 'A day': '70', Account: 'acme', Note: 'Ticket 5' })
  await dialog.getByText('Restrictions and billing day').click()
  await fill({ Methods: 'GET, HEAD', Paths: '/v1/pets  /v1/pets/*', Addresses: '10.0.0.0/8' })
  await fill({ 'Billing day': '15', Expires: '2099-01-01T00:00' })
  await looksWell(t, page, 'make-key-all')
  await make.press('Enter')
  await dialog.getByText('Copy the token now').waitFor()
  t.match(await dialog.getByRole('status').first().innerText(), /Twin/)
  await dialog.getByRole('button', { name: 'Done' }).press('Enter')
  const [key] = json(await ask('GET', '/admin/keys?search=acme')) as unknown as { id: string }[]
  t.match(json(await ask('GET', `/admin/keys/${key?.id}`)), {
    plan: 'own',
    account: 'acme',
    limits: { perMinute: 7, perDay: 70 },
    methods: ['GET', 'HEAD'],
    paths: ['/v1/pets', '/v1/pets/*'],
    addresses: ['10.0.0.0/8'],
    expiresAt: '2099-01-01T00:00:00.000Z',
    note: 'Ticket 5',
    standing: { monthFrom: 15 },
  })
  await go(page, `keys/${key?.id}`)
  t.match(await page.locator('main .facts').innerText(), 'Billing day\n15')
})
