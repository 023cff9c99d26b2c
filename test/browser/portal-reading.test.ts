import { readFileSync } from 'node:fs'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { startBrowser } from '../support/browser.ts'
import {
  animals,
  enterKey,
  littleDocument,
  startPages,
  unfold,
  visit,
  type Section,
} from '../support/portal-page.ts'

const { test } = await startBrowser(t)

/** The little document with more in its `info`. */
function withInfo(more: Section): string {
  const { info, ...rest } = parse(littleDocument()) as Section
  return stringify({ info: { ...(info as Section), ...more }, ...rest })
}

test('an operation begins with its form, and ends with what its document says of HEAD', async (t, open) => {
  const { url } = await startPages(t, { text: readFileSync(animals, 'utf8') })
  const page = await visit(open, url)
  const place = await unfold(page, 'GET /v1/pets')
  await place.locator(':scope > form').waitFor()
  const parts = await page.evaluate<string[]>(
    `[...document.querySelector('[data-operation="GET /v1/pets"]').children].map((each) =>
      each.dataset.operation ?? each.querySelector('h4')?.innerText ?? (each.innerText.split('\\n')[0] || each.tagName))`,
  )
  const at = (text: string): number => parts.findIndex((part) => part.startsWith(text))
  t.ok(at('Try it') > 0)
  t.ok(at('Try it') < at('Parameters') && at('Parameters') < at('Answers'), parts.join())
  t.equal(parts.at(-1), 'HEAD /v1/pets')
  const labels = await place.locator(':scope > form label > span').allInnerTexts()
  t.strictSame(labels, ['limit query', 'after query', 'status query'])
  const contents = await page.getByRole('navigation').innerText()
  t.notMatch(contents, 'HEAD')
  await page.evaluate(`location.hash = '#head-v1-pets'`)
  await page.getByText('The answer of listing animals, without the body').waitFor()
  await page.locator('#head-v1-pets > form').waitFor()
})

test('refusals that most operations have stand once, and each operation leads to its own of them', async (t, open) => {
  const { url } = await startPages(t)
  const page = await visit(open, url)
  const place = await unfold(page, 'POST /v1/pets')
  t.strictSame(await place.locator('.response').evaluateAll((all) => all.map((each) => each.id)), [
    '',
    '',
    '',
  ])
  t.match(await place.innerText(), /201.*413.*415.*Shared with most operations: 400 401 403/s)
  await place.getByRole('link', { name: '429' }).click()
  const refusal = page.locator('#refusal-429')
  await refusal.getByText('Retry-After').first().waitFor()
  const { length } = await page.locator('[data-operation*="/v1/pets"] [data-status="429"]').all()
  t.equal(length, 0)
})

test('whoever has a question finds the document, the contact and the terms', async (t, open) => {
  const contact = { name: 'Zoo', url: 'https://zoo.example/', email: 'api@zoo.example' }
  const text = withInfo({ contact, termsOfService: 'https://zoo.example/terms' })
  const { url } = await startPages(t, { text })
  const page = await visit(open, url)
  const about = page.locator('.about')
  t.match(
    await about.innerText(),
    /the OpenAPI document\s+Questions: Zoo, api@zoo\.example\s+Terms of service: https:\/\/zoo\.example\/terms\s+Licence: MIT/,
  )
  t.strictSame(
    await about.locator('a').evaluateAll((all) => all.map((each) => each.getAttribute('href'))),
    [
      '/docs/openapi.json',
      'https://zoo.example/',
      'mailto:api@zoo.example',
      'https://zoo.example/terms',
    ],
  )
  const document = (await (await fetch(`${url}/docs/openapi.json`)).json()) as Section
  t.match(document, { info: { contact } })
})

test('a sample is made of the form’s values, in the language of choice, and runs as it was copied', async (t, open) => {
  const gateway = await startPages(t)
  const { token, headers } = await gateway.key()
  const page = await visit(open, gateway.url, {
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const place = await unfold(page, 'POST /v1/pets')
  const name = `"it's" \${HOME} \`id\` \\ ünö`
  await place
    .getByLabel(/^Body/)
    .fill(`{\n  "name": ${JSON.stringify(name)},\n  "categoryId": 3\n}`)
  await place.getByRole('button', { name: 'JavaScript' }).click()
  await place.getByRole('button', { name: 'Copy as JavaScript' }).click()
  await place.getByText('Copied.').waitFor()
  const sample = await page.evaluate<string>('navigator.clipboard.readText()')
  t.equal(sample, await place.locator('.sample pre').innerText())
  t.notMatch(sample, token)
  await place.locator('.sample').getByText('one gate for all its calls').waitFor()
  await page.getByText('Have one gate for all calls of a program').waitFor()
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', sample],
    { env: { ...process.env, KEY: token } },
  )
  t.match(stdout, /^201 /)
  const { text } = await gateway.call('GET', '/v1/pets/1', undefined, headers)
  t.match(JSON.parse(text), { name })
  const other = await unfold(page, 'GET /v1/pets')
  await other.getByLabel('The request in JavaScript').waitFor()
})

test('the bars of 90 days are read by arrow keys', async (t, open) => {
  const gateway = await startPages(t)
  const { token, headers } = await gateway.key()
  for (let i = 0; i < 3; i++) await gateway.call('GET', '/v1/pets', undefined, headers)
  await gateway.app.front.flushCounts()
  const page = await visit(open, gateway.url)
  await enterKey(page, token)
  const standing = page.getByRole('region', { name: 'Your limits and usage' })
  await standing.getByText('3 requests admitted, 0 refused').waitFor()
  const day = (ago: number): string =>
    new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
  const chart = standing.getByRole('slider')
  const axes = ['0', '1', '2', '3', day(89), 'today']
  t.strictSame(await chart.locator('.axis').allTextContents(), axes)
  await chart.press('ArrowLeft')
  t.equal(await chart.getAttribute('aria-valuetext'), `${day(0)}, admitted 3, refused 0`)
})

test('an operation that goes says until when, and one that went says since when', async (t, open) => {
  const more = `
deprecations:
  - { operation: 'GET /v1/pets/{petId}', since: 2026-01-01, sunset: 2099-02-03 }
  - { operation: POST /v1/pets, since: 2025-01-01, sunset: 2025-12-05T06:30:00Z }
  - { operation: GET /v1/pets, since: 2026-01-01 }
`
  const { url } = await startPages(t, { more })
  const page = await visit(open, url)
  t.strictSame(await page.locator('nav .leaving').allInnerTexts(), [
    'deprecated',
    'removed on 2025-12-05 06:30:00Z',
    'until 2099-02-03',
  ])
  t.strictSame(await page.locator('summary .mark').allInnerTexts(), [
    'deprecated',
    'removed on 2025-12-05 06:30:00Z',
    'deprecated, until 2099-02-03',
  ])
})

test('a document without operations is a page that says so', async (t, open) => {
  const text = stringify({ openapi: '3.1.0', info: { title: 'X', version: '1' }, paths: {} })
  const { url } = await startPages(t, { text, more: 'quota: off\nusage: off' })
  const page = await visit(open, url)
  await page.getByText('The document has no operations.').waitFor()
  t.equal(await page.getByText('Refusals shared by most operations').count(), 0)
})

test('ends are near by the gateway’s clock, whatever the browser’s says, and the reader’s time is a tooltip', async (t, open) => {
  const gateway = await startPages(t)
  const { token } = await gateway.key()
  const page = await visit(open, gateway.url, { timezoneId: 'Asia/Tokyo' })
  await page.clock.setFixedTime(Date.now() - 3 * 86_400_000)
  await enterKey(page, token)
  const today = page.locator('.bar', { hasText: 'Today' })
  t.match(await today.innerText(), /until [\w ]+, 00:00, in [\dhmins ]+/)
  const [datetime, title] = await Promise.all(
    ['datetime', 'title'].map((name) => today.locator('time').getAttribute(name)),
  )
  t.match(datetime, /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/)
  t.match(title, /9:00:00 AM GMT\+9$/)
})
