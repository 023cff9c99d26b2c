import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import { go, startBrowser } from '../support/browser.ts'
import { startUpstream } from '../support/gateway.ts'
import { enterKey, startPages, unfold, visit } from '../support/portal-page.ts'
import { until } from '../support/until.ts'

const { test } = await startBrowser(t)

test('callers read what an operation costs, and what their answers have told', async (t, open) => {
  const gateway = await startPages(t, {
    routes:
      '[ { path: /v1/pets, upstream: animals, methods: [GET], cost: { estimate: 10, from: answer } }, ' +
      '{ path: /v1/pets, upstream: animals, methods: [POST], cost: 5 }, { path: /v1/*, upstream: animals } ]',
  })
  const { token, headers } = await gateway.key()
  await gateway.call('GET', '/v1/pets', undefined, headers)
  await gateway.app.front.flushCounts()
  const page = await visit(open, gateway.url)
  const told = 'what its answer tells (an estimate of 10 points until then, at most 100)'
  const place = await unfold(page, 'GET /v1/pets')
  await place.getByText(`Costs ${told}.`, { exact: true }).waitFor()
  await (
    await unfold(page, 'POST /v1/pets')
  )
    .getByText('Costs 5 points.', { exact: true })
    .waitFor()
  await page.getByText('the next answer shows it').waitFor()
  await enterKey(page, token)
  await place.getByText(`Sending costs ${told} of your key’s quota`).waitFor()
  const standing = page.getByRole('region', { name: 'Your limits and usage' })
  await standing.getByText('Show as table').click()
  t.match(await standing.getByRole('table').innerText(), /Points\s+Estimated\s+Refused/)
})

test('the console shows what routes cost, and what answers of a key have told', async (t, open) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(500, { 'X-Gateway-Cost': '37' }).end('{}')
  })
  const { url, gateway } = await startAdmin(t, {
    upstream,
    routes:
      '[ { path: /v1/ask, upstream: animals, cost: { estimate: 10, from: answer, atMost: 500 } }, ' +
      '{ path: /v1/*, upstream: animals } ]',
  })
  const { key, headers } = await gateway.key()
  await gateway.call('GET', '/v1/ask', undefined, { ...headers, 'x-request-id': 'asked' })
  await gateway.app.front.flushCounts()
  const page = await open(url, { place: 'backends' })
  const told = 'what its answer tells (an estimate of 10 points until then, at most 500)'
  await page.getByText(`/v1/ask costs ${told}.`).waitFor()
  t.notMatch(await page.locator('main').innerText(), '/v1/* costs')
  await go(page, 'requests/asked')
  await page.getByText('37 points, estimated 10', { exact: true }).waitFor()
  await go(page, `keys/${key.id}`)
  const text = 'They have cost 37 points; those whose answers tell it were estimated at 10.'
  await until(async () => (await page.locator('main').innerHTML()).includes(text))
})
