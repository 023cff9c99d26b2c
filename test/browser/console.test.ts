import t, { type Test } from 'tap'
import { startAdmin, type AdminOptions } from '../support/admin.ts'
import { go, places, settled, signIn, startBrowser } from '../support/browser.ts'
import { json } from '../support/http.ts'
import { startRedis } from '../support/redis.ts'

const { test } = await startBrowser(t)

async function startWithRedis(t: Test, options: AdminOptions = {}) {
  const redis = await startRedis(t)
  return { redis, ...(await startAdmin(t, { store: `redis: "${redis.url}"`, ...options })) }
}

test('an operator signs in and out, and a wrong token is told', async (t, open) => {
  const { url } = await startWithRedis(t)
  const page = await open(url, { token: '', expected: /^401 POST \/console\/session$/ })
  await page.getByLabel('Admin token').fill('a-token-of-nobody')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  await signIn(page)
  await settled(page)
  t.equal(await page.title(), 'Now · Tollgate')
  await page.reload()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Admin token').waitFor()
  t.strictSame(await page.evaluate('Object.keys(sessionStorage)'), [])
  for (const place of places) await page.goto(`${url}/console/#/${place}`)
  t.ok(await page.getByLabel('Admin token').isVisible())
})

test('each page opens', async (t, open) => {
  const { url, ask, gateway } = await startWithRedis(t)
  const key = await gateway.key({ name: 'Acme' })
  t.equal(json(await ask('GET', `/admin/keys/${key.key.id}`))['name'], 'Acme')
  const page = await open(url)
  for (const place of places) {
    await go(page, place)
    t.comment(place, await page.locator('h1').innerText())
  }
})
