import { createHash } from 'node:crypto'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import {
  focused,
  furnish,
  go,
  isNarrow,
  picture,
  places,
  retiring,
  settled,
  startBrowser,
  startWithRedis,
} from '../support/browser.ts'
import type { Gateway } from '../support/gateway.ts'
import { json } from '../support/http.ts'
import { startRedis } from '../support/redis.ts'

const { test } = await startBrowser(t)
const readerToken = 'token-of-bob-0123456789'

test('each page reads well with nothing to show', async (t, open) => {
  const { url } = await startWithRedis(t)
  const page = await open(url, {
    expected: /^40[04] GET \/admin\/(?:(?:keys|usage)\/%25|deprecations$)/,
  })
  const said: Readonly<Record<(typeof places)[number], RegExp>> = {
    now: /First steps.*curl http/s,
    keys: /There are no keys yet.*tollgate keys create/s,
    plans: /free\s+60\s+1,000/,
    backends: /animals/,
    deprecations: /Nothing is deprecated/,
    configuration: /gateway\.yaml/,
    audit: /console\.sign-in|Nothing was changed/,
  }
  for (const place of places) {
    await go(page, place)
    const text = await page.locator('main').innerText()
    t.match(text, said[place], place)
    t.notMatch(text, /undefined|NaN|\[object|null/, place)
    t.match(await page.title(), / · Tollgate$/)
    await picture(page, `${place}-empty`)
  }
  for (const odd of ['keys/%', 'nowhere', '//', '%00/x']) {
    await go(page, odd)
    t.ok(await page.locator('h1').isVisible(), odd)
  }
})

test('an empty page has the button of its first step', async (t, open) => {
  const { url } = await startAdmin(t)
  const page = await open(url, { place: 'keys' })
  const dialog = page.getByRole('dialog', { name: 'Create key' })
  const opens = async (button: string): Promise<void> => {
    await page.getByRole('button', { name: button }).press('Enter')
    await dialog.waitFor()
  }
  await opens('Create the first key')
  await page.keyboard.press('Escape')
  t.equal(await focused(page), 'Create the first key', 'the focus is back')
  await go(page, 'accounts/acme')
  await opens('Create its first key')
  t.equal(await dialog.getByLabel(/^Account/).inputValue(), 'acme')
  await page.keyboard.press('Escape')
  await go(page, 'deprecations')
  await page.getByRole('link', { name: 'Edit the configuration' }).press('Enter')
  await page.getByRole('heading', { name: 'Configuration' }).waitFor()
})

test('who may not create keys is offered none', async (t, open) => {
  const { url } = await startAdmin(t, { tokens: `bob/read:${readerToken}` })
  const page = await open(url, { token: readerToken, place: 'keys' })
  await page.getByText('There are no keys yet').waitFor()
  t.equal(await page.getByRole('button', { name: /Create/ }).count(), 0)
})

test('each page shows one key, and none of them another path or a mistake of ours', async (t, open) => {
  const admin = await startWithRedis(t, { more: retiring })
  const { key, id } = await furnish(admin)
  const page = await open(admin.url)
  for (const place of [...places, 'plans/free', `keys/${key.id}`, `requests/${id}`]) {
    await go(page, place)
    const text = await page.locator('main').innerText()
    t.notMatch(text, /undefined|NaN|\[object/, place)
    if (!/plans|backends|configuration|audit/.test(place)) t.match(text, /Acme/, place)
  }
})

test('a text from any page lists the keys that have it, until all are shown again', async (t, open) => {
  const { url, ask } = await startAdmin(t)
  for (const name of ['North 1', 'North 2', 'South']) {
    await ask('POST', '/admin/keys', { name, plan: 'free' })
  }
  const page = await open(url, { place: 'plans', expected: /^404 GET \/admin\/requests\// })
  await settled(page)
  await page.keyboard.insertText('North')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'North 2' }).waitFor()
  t.equal(await page.getByRole('row').count(), 3)
  t.equal(await focused(page), 'Keys')
  await page.getByRole('button', { name: 'Show all' }).click()
  await page.getByRole('link', { name: 'South' }).waitFor()
  await page.locator('#search').fill('North')
  await page.keyboard.press('Enter')
  await page.getByText('Keys with North only').waitFor()
  await page.locator('nav').getByRole('link', { name: 'Plans' }).click()
  await page.locator('nav').getByRole('link', { name: 'Keys' }).click()
  await page.getByRole('link', { name: 'South' }).waitFor()
})

test('a hundred thousand keys are a page, and one of them is found', async (t, open) => {
  const { url, ask } = await startAdmin(t)
  const lines = Array.from({ length: 100_000 }, (_, i) => {
    const name = `Customer ${String(i).padStart(6, '0')}`
    const sha256 = createHash('sha256').update(name).digest('hex')
    return JSON.stringify({ name, plan: i % 3 === 0 ? 'pro' : 'free', sha256 })
  })
  const type = { 'content-type': 'application/x-ndjson' }
  const imported = await ask('POST', '/admin/keys/import', lines.join('\n'), type)
  t.match(imported, { status: 200, text: '{"imported":100000}' })
  const page = await open(url, { place: 'keys', expected: /^404 GET \/admin\/requests\// })
  await page.getByRole('link', { name: 'Customer 000000' }).waitFor()
  t.equal(await page.getByRole('row').count(), 51)
  await page.getByRole('button', { name: 'Next 50' }).click()
  await page.getByRole('link', { name: 'Customer 000050' }).waitFor()
  await page.getByRole('button', { name: 'Back' }).click()
  await page.getByRole('link', { name: 'Customer 000000' }).waitFor()
  await page.locator('#search').fill('Customer 077777')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Customer 077777' }).waitFor()
  for (const place of places) await go(page, place)
})

test('an id of a request that isn’t kept is answered as by the command', async (t, open) => {
  const { url, ask } = await startAdmin(t)
  await ask('POST', '/admin/keys', { name: 'Acme', plan: 'free' })
  const page = await open(url, { place: 'keys', expected: /^404 GET \/admin\/requests\// })
  await page.getByRole('link', { name: 'Acme' }).waitFor()
  const id = '6d1f0c2ab34e5f67-2s'
  await page.locator('#search').fill(id)
  await page.keyboard.press('Enter')
  const told = await page.getByRole('alert').innerText()
  t.match(
    told,
    `No key matches. No refused or failed answer has the id "${id}": 1 gateway keeps 0 `,
  )
  const { message } = json(await ask('GET', `/admin/requests/${id}`))
  t.equal(told, `No key matches. ${String(message)}`)
  t.ok(await page.getByRole('link', { name: 'Acme' }).isVisible(), 'the list stays')
})

test('a request that was refused before a restart is found by its id', async (t, open) => {
  const redis = await startRedis(t)
  const store = `redis: "${redis.url}"`
  const { gateway: before } = await startAdmin(t, { store })
  const id = 'before-a-deploy'
  await before.call('GET', '/v1/pets?canary', undefined, { 'x-request-id': id })
  await before.app.close()
  const { url } = await startAdmin(t, { store })
  const page = await open(url, { place: 'keys' })
  await page.locator('#search').fill(id)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Request' }).waitFor()
  await page.getByText('401 missing_api_key.').waitFor()
  t.match(await page.locator('main').innerText(), 'GET /v1/pets (route /v1/*)')
  t.match(page.url(), `#/requests/${id}`)
})

/** Texts that are no markup, however they look. */
const hostile = [
  '<img src=x onerror="globalThis.isHacked=true">',
  '</script><script>isHacked=true</script>',
  'moc.live\u202Ereversed',
  '😀'.repeat(255),
  'x'.repeat(1_000),
  '${constructor.constructor("isHacked=true")()}',
]

/** Gives a key a name that operators can't give: another program may have written to the store. */
async function rename({ stores }: Gateway, id: string, name: string): Promise<void> {
  const stored = await stores.keys.get(id)
  if (!stored) throw new Error(`there is no key ${id}`)
  await stores.keys.replace({ ...stored.key, name, note: name, account: name }, stored.version)
}

test('hostile names are texts on every page, and move nothing', async (t, open) => {
  const admin = await startWithRedis(t, { more: retiring })
  const shownBy: string[] = []
  for (const [i, name] of hostile.entries()) {
    const { key, headers } = await admin.gateway.key({ name: `Key ${i}`, limits: { perMinute: 1 } })
    await rename(admin.gateway, key.id, name)
    for (let n = 0; n < 3; n++) {
      const more = { ...headers, 'x-request-id': `hostile-${i}` }
      await admin.gateway.call('GET', '/v1/old', undefined, more)
    }
    await admin.ask('PATCH', `/admin/keys/${key.id}`, { note: name })
    shownBy.push(`keys/${key.id}`, `requests/hostile-${i}`)
  }
  await admin.gateway.app.front.flushCounts()
  const page = await open(admin.url, { viewport: { width: 320, height: 800 } })
  for (const place of [...places, 'plans/free', ...shownBy]) {
    await go(page, place)
    t.equal(await page.locator('#app img, #app script').count(), 0, place)
    t.ok(await isNarrow(page), `${place} doesn’t scroll sideways`)
    if (place === 'keys') {
      for (const name of hostile) t.ok(await page.getByText(name).count(), name.slice(0, 40))
    }
  }
  t.equal(await page.evaluate('String(globalThis.isHacked)'), 'undefined')
})
