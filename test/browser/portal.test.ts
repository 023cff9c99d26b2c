import t from 'tap'
import { stringify } from 'yaml'
import { axe, isNarrow, picture, startBrowser, violations } from '../support/browser.ts'
import { enterKey, startPages, unfold, visit } from '../support/portal-page.ts'
import { until } from '../support/until.ts'

const { test } = await startBrowser(t)

test('a stranger gets from the page to a call, and to a 429 that says what to do', async (t, open) => {
  const gateway = await startPages(t)
  const { token } = await gateway.key({ limits: { perMinute: 2 } })
  const page = await visit(open, gateway.url, { expected: /^(?:401 GET|429 POST|401 POST) / })
  await picture(page, 'portal')
  const place = await unfold(page, 'POST /v1/pets')
  t.match(
    await place.locator('.sample pre').innerText(),
    `curl -i -X POST '${gateway.url}/v1/pets'`,
  )
  await place.getByText('Without a key it is refused with 401').waitFor()
  await place.getByRole('button', { name: 'Send' }).click()
  await place.getByText('401 Unauthorized').waitFor()
  await page
    .getByLabel('Your API key')
    .fill(`${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`)
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('The API key is not valid.').waitFor()
  await enterKey(page, token)
  await place.getByText('Sending costs 1 point').waitFor()
  // In one minute, whatever the clock says: three requests of a limit of two.
  for (let i = 0; i < 4; i++) {
    await place.getByRole('button', { name: 'Send' }).click()
    await place.getByText(/^(?:201 Created|429 Too Many Requests)$/).waitFor()
    await until(async () => await place.getByRole('button', { name: 'Send' }).isEnabled())
    if ((await place.locator('.status').last().innerText()).startsWith('429')) break
    t.match(
      await place.locator('.reading').innerText(),
      /^[01] of 2 left, until [^.]*\d\d:\d\d, (?:in )?\d+ s(?: ago)?\.$/,
    )
  }
  await place.getByText('429 Too Many Requests').waitFor()
  t.match(
    await place.locator('.banner[role=status]').innerText(),
    /0 of 2 left, until .*Wait \d+ seconds?, until [^.]*\d\d:\d\d, (?:in )?\d+ s(?: ago)?\. Then requests are accepted/s,
  )
  await picture(page, 'portal-429')
  await place.getByRole('link', { name: 'What refusals mean' }).click()
  t.equal(await page.evaluate('document.activeElement.id'), 'refused')
})

test('the keyboard alone sends a POST and reads its 201', async (t, open) => {
  const gateway = await startPages(t)
  const { token } = await gateway.key({ limits: { perDay: 1 } })
  const page = await visit(open, gateway.url)
  const tabTo = async (name: RegExp): Promise<void> => {
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab')
      const focused = await page.evaluate<string>(
        `(document.activeElement.labels?.[0]?.innerText ?? document.activeElement.innerText ?? '').trim()`,
      )
      if (name.test(focused)) return
    }
    t.fail(`Tab leads to ${name}`)
  }
  await tabTo(/^Your API key/)
  await page.keyboard.insertText(token)
  await page.keyboard.press('Enter')
  await page.getByText('This minute').waitFor()
  await tabTo(/^POST\s+\/v1\/pets$/)
  await page.keyboard.press('Enter')
  await until(async () => (await page.evaluate('document.activeElement.tagName')) === 'SUMMARY')
  await tabTo(/^Body \(application\/json\)/)
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText('{ "name": "Ünö \\"the\\" \'cat\'", "categoryId": 3 }')
  await tabTo(/^Send$/)
  await page.keyboard.press('Enter')
  const place = page.locator('[data-operation="POST /v1/pets"]')
  await place.getByText('201 Created').waitFor()
  t.match(await place.locator('pre.body').innerText(), /"name": "Ünö \\"the\\" 'cat'"/)
  const reading = await place.locator('.reading').innerText()
  t.match(reading, /^0 of 1 left, until .*, in .*\. 100 % of the day is used\.$/)
  await page.getByText('100 % of the day is used.', { exact: true }).waitFor()
})

test('the key is nowhere after it was forgotten, nor ever in an address or a store', async (t, open) => {
  const logged: string[] = []
  const gateway = await startPages(t, {
    log: { level: 'info', target: { write: (line: string) => void logged.push(line) } },
  })
  const { token } = await gateway.key()
  const page = await visit(open, gateway.url)
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await enterKey(page, token)
  const place = await unfold(page, 'GET /v1/pets')
  await place.getByRole('button', { name: 'Send' }).click()
  await place.getByText('200 OK').waitFor()
  const anywhere = `JSON.stringify([document.documentElement.outerHTML, { ...localStorage }, { ...sessionStorage },
    document.cookie, location.href, history.state, [...document.querySelectorAll('input, textarea, select')].map((each) => each.value)])`
  const isAnywhere = async (): Promise<boolean> =>
    (await page.evaluate<string>(anywhere)).includes(token.slice(0, 20))
  t.equal(await isAnywhere(), false, 'not even while it is used')
  await page.getByRole('button', { name: 'Forget the key' }).click()
  await page.getByLabel('Your API key').waitFor()
  t.equal(await isAnywhere(), false)
  t.equal(await page.getByText('This minute').count(), 0)
  t.equal(await place.getByText('200 OK').count(), 0, 'answers that came for it are gone')
  t.ok(asked.length > 1 && asked.every((url) => !url.includes(token.slice(0, 20))))
  t.ok(logged.length > 3 && !logged.join('').includes(token.slice(0, 20)))
  await place.getByText('Without a key it is refused').waitFor()
})

const retiring = `
deprecations:
  - operation: GET /v1/pets/{petId}
    since: 2026-01-01
    sunset: 2099-02-03
    replacement: /v1/pets?status=available
`

test('the page shows how a key stands', async (t, open) => {
  const gateway = await startPages(t, { more: retiring })
  const { token, key, headers } = await gateway.key({ account: 'acme' })
  for (const path of ['/v1/pets', '/v1/pets/1', '/v1/pets/2']) {
    await gateway.call('GET', path, undefined, headers)
  }
  await gateway.app.front.flushCounts()
  const page = await visit(open, gateway.url)
  await enterKey(page, token)
  const standing = page.getByRole('region', { name: 'Your limits and usage' })
  await standing.getByText('3 requests admitted, 0 refused').waitFor()
  t.match(await standing.innerText(), /Today: 3 of 1,000 used/)
  t.match(await standing.innerText(), /0 strikes of 60/)
  t.match(
    await standing.innerText(),
    /GET \/v1\/pets\/\{petId\}: 2 times.* removed on 2099-02-03.*status=available/s,
  )
  const leaving = page.locator('[data-operation="GET /v1/pets/{petId}"]')
  t.match(await leaving.innerText(), /deprecated, until 2099-02-03/)
  await unfold(page, 'GET /v1/pets/{petId}')
  t.match(
    await leaving.innerText(),
    /since 2026-01-01\. Removed on 2099-02-03\..*status=available instead/s,
  )
  await picture(page, 'portal-standing')

  await gateway.stores.quota.ban('account:acme', key.id, Date.now() + 3_600_000)
  await standing.getByRole('button', { name: 'Refresh' }).click()
  await standing.getByText(/Your key is banned until .*, in 1 h\. Why, and what to do/).waitFor()
})

test('what somebody else has written is text', async (t, open) => {
  const hostile = '<script>alert(1)</script><img src=x onerror=alert(1)> [go](javascript:alert(1))'
  const schema = {
    type: 'object',
    description: hostile,
    properties: { [hostile]: { enum: [hostile] } },
  }
  const operation = {
    summary: hostile,
    description: `${hostile}\n\n- ${hostile}\n\n| a |\n| - |\n| ${hostile} |\n\n[fine](https://fine.example/)`,
    tags: [hostile],
    parameters: [{ name: hostile, in: 'query', description: hostile, schema }],
    requestBody: { content: { [hostile]: { schema, example: hostile } } },
    responses: { 200: { description: hostile, headers: { [hostile]: { schema } } } },
  }
  const info = {
    ...{ title: hostile, version: hostile, summary: hostile, description: hostile },
    ...{ contact: { name: hostile, url: 'javascript:alert(1)', email: 'a@b.c?bcc=evil@b.c' } },
    ...{
      license: { name: hostile, url: 'data:text/html,x' },
      termsOfService: 'javascript:alert(1)',
    },
  }
  const servers = [{ url: 'javascript:alert(1)' }]
  const paths = { [`/${hostile}`]: { post: operation } }
  const components = { schemas: { [hostile]: schema } }
  const text = stringify({ openapi: '3.1.0', info, servers, paths, components })
  const { url } = await startPages(t, { text })
  const page = await visit(open, url)
  page.on('dialog', () => t.fail('nothing was run'))
  await page.locator('form.try').first().waitFor({ state: 'attached' })
  t.ok((await page.innerText('h1')).includes(hostile))
  const made = await page.evaluate<string[]>(
    `[...document.querySelectorAll('#app script, #app img, #app iframe, a')]
      .map((each) => each.tagName + ' ' + (each.getAttribute('href') ?? ''))
      .filter((each) => !each.startsWith('A #'))`,
  )
  t.strictSame(made, ['A /docs/openapi.json', 'A https://fine.example/'])
})

test('the key stays on this host, and a copied command reads no file', async (t, open) => {
  const parameters = [
    { name: '@/etc/hostname', in: 'header', required: true, schema: { type: 'string' } },
    { name: 'X-Fine', in: 'header', required: true, example: 'yes' },
    { name: 'empty', in: 'path' },
  ]
  const content = { 'text/plain': { example: '@/etc/hostname' } }
  const text = stringify({
    ...{ openapi: '3.1.0', info: { title: 'X', version: '1' } },
    paths: { '/{empty}/evil.example/': { post: { parameters, requestBody: { content } } } },
  })
  const gateway = await startPages(t, { text })
  const { token } = await gateway.key()
  const page = await visit(open, gateway.url, { bypassCSP: true })
  const asked: string[] = []
  await page.route('**/evil.example/**', (route) => {
    asked.push(route.request().url())
    return route.abort()
  })
  await enterKey(page, token)
  const place = await unfold(page, 'POST /{empty}/evil.example/')
  const curl = await place.locator('.sample pre').innerText()
  t.match(curl, "--data-raw '@/etc/hostname'")
  t.match(curl, "-H 'X-Fine: yes'")
  t.notMatch(curl, "-H '@")
  await place.getByText('can’t be sent from a page').waitFor()
  await place.getByRole('button', { name: 'Send' }).click()
  await place.getByText('leads to another host, so the key isn’t sent there').waitFor()
  t.strictSame(asked, [])
})

test('axe finds nothing on it, in light and dark, empty and full', async (t, open) => {
  const gateway = await startPages(t, { more: retiring })
  const { token, headers } = await gateway.key({ account: 'acme' })
  await gateway.call('GET', '/v1/pets/1', undefined, headers)
  await gateway.app.front.flushCounts()
  const page = await visit(open, gateway.url, { bypassCSP: true })
  await page.evaluate(axe)
  const inBoth = async (name: string): Promise<void> => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      t.strictSame(await violations(page), [], `${name}, ${colorScheme}`)
      await picture(page, `portal-${name}-${colorScheme}`)
    }
  }
  await inBoth('empty')
  await enterKey(page, token)
  await page.getByText('request admitted').waitFor()
  const place = await unfold(page, 'POST /v1/pets')
  await place.getByRole('button', { name: 'Send' }).click()
  await place.getByText('201 Created').waitFor()
  await page.evaluate(
    `document.querySelectorAll('details').forEach((each) => { each.open = each.matches('[data-operation="POST /v1/pets"], [data-schema="Pet"], .answer details, .card details, nav details') })`,
  )
  await inBoth('full')
})

test('nothing scrolls sideways at 320 px or at 200 %', async (t, open) => {
  const gateway = await startPages(t, { more: retiring })
  const sizes = {
    320: { viewport: { width: 320, height: 800 } },
    'of 200 %': { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 },
  }
  for (const [name, size] of Object.entries(sizes)) {
    // Each has a second of its own, in which it may ask for usage.
    const { token, headers } = await gateway.key({ name, account: name })
    await gateway.call('GET', '/v1/pets/1', undefined, headers)
    await gateway.app.front.flushCounts()
    const page = await visit(open, gateway.url, { ...size, reducedMotion: 'reduce' })
    t.ok(await isNarrow(page), name)
    await picture(page, `portal-${name.replaceAll(/\W+/g, '')}`)
    await enterKey(page, token)
    const place = await unfold(page, 'POST /v1/pets')
    await place.getByRole('button', { name: 'Send' }).click()
    await place.getByText('201 Created').waitFor()
    await page.evaluate(
      `document.querySelectorAll('details').forEach((each) => { each.open = true })`,
    )
    t.ok(await isNarrow(page), `everything open, ${name}`)
    t.equal(await page.evaluate('document.getAnimations().length'), 0)
    await page.evaluate(
      `document.querySelectorAll('details').forEach((each) => { each.open = each.matches('[data-operation="POST /v1/pets"], .answer details') })`,
    )
    await picture(page, `portal-full-${name.replaceAll(/\W+/g, '')}`)
  }
})
