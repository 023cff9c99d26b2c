import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { pressAction, startBrowser } from '../support/browser.ts'
import { bearer, jwtSection, signingKey, startKeyServer, tokenOf } from '../support/jwt.ts'

const { test } = await startBrowser(t)

test('a pasted JWT is judged in the page, and leads to its caller', async (t, open) => {
  const key = signingKey('ES256')
  const server = await startKeyServer(t, [key, signingKey('RS256', 'weak', 1_024)])
  const asked: string[] = []
  const { url, gateway } = await startAdmin(t, {
    more: jwtSection(server.url, 'plan: free, name: email'),
  })
  const good = tokenOf(key, { claims: { email: 'Alice <b>of</b> Acme' } })
  t.equal((await gateway.call('GET', '/v1/x', undefined, bearer(good))).status, 200)
  const page = await open(url, { place: 'keys' })
  page.on('request', (request) => asked.push(request.url()))
  const paste = async (token: string): Promise<void> => {
    await page.locator('#search').fill(token)
    await page.keyboard.press('Enter')
  }
  await paste(tokenOf(key, { claims: { exp: 1_700_000_000 } }))
  await page.getByText('This JWT is refused: jwt_expired.').waitFor()
  await paste(good)
  await page.getByText('This JWT verifies.').waitFor()
  t.equal(await page.locator('#search').inputValue(), '', 'it doesn’t stay in the field')
  t.match(
    await page.getByRole('region', { name: 'Issuers of JWTs' }).innerText(),
    /1 of 100,000\s+1\s+weak: it is RSA of under 2048 bits/,
  )
  await page.getByLabel('JWT', { exact: true }).getByRole('link', { name: 'Alice' }).click()
  await page.getByRole('heading', { name: 'Alice <b>of</b> Acme' }).waitFor()
  const facts = await page.locator('main dl.facts').first().innerText()
  t.match(facts, /Issuer\s+https:\/\/login\.example\/\s+Subject\s+alice/)
  t.equal(await page.getByRole('button', { name: /token/i }).count(), 0, 'nothing to rotate')
  await pressAction(page, 'Change plan or limits')
  t.equal(await page.locator('select[name=plan]').count(), 0)
  t.notOk(
    asked.some((each) => each.includes(good.slice(0, 20))),
    'no address has the token',
  )
})
