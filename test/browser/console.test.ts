import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startAdmin, type AdminOptions } from '../support/admin.ts'
import {
  axe,
  go,
  isNarrow,
  picture,
  places,
  settled,
  signIn,
  startBrowser,
  violations,
} from '../support/browser.ts'
import { runCommand } from '../support/command.ts'
import { plans, startUpstream, type Gateway } from '../support/gateway.ts'
import { token } from '../support/operator.ts'
import { startRedis, until } from '../support/redis.ts'

const { browser, test } = await startBrowser(t)

/** A gateway with a Redis of its own. */
async function startWithRedis(t: Test, options: AdminOptions = {}) {
  const redis = await startRedis(t)
  return startAdmin(t, { store: `redis: "${redis.url}"`, ...options })
}

/** A key that is refused, banned, and still calls an operation that goes; everything that pages show is there. */
async function furnish({ gateway, ask }: Awaited<ReturnType<typeof startAdmin>>, name = 'Acme') {
  const { key, token: secret, headers } = await gateway.key({ name, limits: { perMinute: 2 } })
  const send = (path: string, id: string) =>
    gateway.call('GET', path, undefined, { ...headers, 'x-request-id': id })
  for (let i = 0; i < 2; i++) await send('/v1/old', `admitted-${i}`)
  const id = `order-${key.id}`
  // Three, so that one is refused even if a minute begins between them.
  for (let i = 0; i < 3; i++) await send('/v1/x', id)
  await until(async () => (await ask('GET', `/admin/requests/${id}`)).status === 200)
  await gateway.app.core.tallying.flush()
  return { key, secret, id, headers }
}

const retiring =
  'deprecations: [ { operation: GET /v1/old, since: 2026-01-01, sunset: 2099-01-01 } ]'

/** An admin address where the file may be saved. */
const saving = '{ host: 127.0.0.1, port: 0, save: true }'

test('an operator signs in and out, and a wrong token is told', async (t, open) => {
  const { url } = await startWithRedis(t)
  const page = await open(url, { token: '', expected: /^401 POST \/console\/session$/ })
  await picture(page, 'sign-in')
  await page.getByLabel('Admin token').fill('a-token-of-nobody')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  await signIn(page)
  await settled(page)
  t.equal(await page.title(), 'Now · Tollgate')
  t.equal(await page.locator('nav [aria-current=page]').innerText(), 'Now')
  await page.reload()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Admin token').waitFor()
  t.strictSame(await page.evaluate('Object.keys(sessionStorage)'), [])
  for (const place of places) await page.goto(`${url}/console/#/${place}`)
  t.ok(await page.getByLabel('Admin token').isVisible())
})

test('task 1: what a customer has sent leads to the reason by one paste and Enter, and two more lift the ban', async (t, open) => {
  const admin = await startWithRedis(t)
  const { key, secret, id } = await furnish(admin)
  await admin.ask('PUT', `/admin/bans/${key.id}`, { for: '30m' })
  const page = await open(admin.url, { place: 'callers', expected: /^404 GET \/admin\/requests\// })
  const ofCli = async (...words: string[]) => {
    const { stdout } = await runCommand(['explain', ...words, '--json', '--config', admin.file], {})
    return JSON.parse(stdout) as { sentence: string; answers?: { sentence: string }[] }
  }
  const began = performance.now()
  for (const [what, text] of Object.entries({
    request: id,
    key: key.id,
    name: 'Acme',
    token: secret,
  })) {
    await go(page, 'callers')
    t.equal(await page.evaluate('document.activeElement.id'), 'search', 'the field has the focus')
    await page.keyboard.insertText(text)
    await page.keyboard.press('Enter')
    await page.locator('.sentence').waitFor()
    const shown = await page.locator('.sentence').innerText()
    if (what === 'request') {
      const [answer] = (await ofCli(text)).answers ?? []
      t.equal(shown, `429 rate_limit_exceeded. ${answer?.sentence}`)
    } else {
      t.equal(shown, (await ofCli(key.id)).sentence, what)
      t.match(shown, /banned until/)
    }
    t.notMatch(page.url(), secret.slice(20))
    await page.getByRole('button', { name: 'Copy answer' }).waitFor()
  }
  for (const place of [`requests/${id}`, `callers/${key.id}`]) {
    await admin.ask('PUT', `/admin/bans/${key.id}`, { for: '30m' })
    await go(page, place)
    const lift = page.getByRole('button', { name: 'Lift the ban' })
    await lift.waitFor()
    for (let tabs = 0; tabs < 40 && (await focused(page)) !== 'Lift the ban'; tabs++) {
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Lift the ban' })
    await dialog.getByText('is let in again').waitFor()
    await dialog.getByRole('button', { name: 'Lift the ban' }).focus()
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'hidden' })
    await lift.waitFor({ state: 'hidden' })
    t.equal((await admin.ask('GET', '/admin/bans')).text, '[]', place)
  }
  t.ok(performance.now() - began < 30_000 * 4, 'each of the four ways within 30 s')
  const audit = (await admin.ask('GET', `/admin/audit?key=${key.id}&limit=1`)).text
  t.match(audit, /bans\.lift/, 'it is in the audit')
})

test('task 2: a limit is tried, saved and watched from its plan’s page', async (t, open) => {
  const admin = await startWithRedis(t, { admin: saving })
  const { key, headers } = await admin.gateway.key({ name: 'Busy' })
  for (let i = 0; i < 6; i++) await admin.gateway.call('GET', '/v1/x', undefined, headers)
  await admin.gateway.app.core.tallying.flush()
  const page = await open(admin.url, { place: 'plans' })
  const began = performance.now()
  await page.getByRole('link', { name: 'free' }).press('Enter')
  await page.getByLabel('A minute', { exact: true }).fill('1')
  await page.getByText('1 of 1 quotas would have been refused, on 1 of').waitFor()
  const words = ['plans', 'preview', 'free', '--per-minute', '1', '--json']
  const { stdout } = await runCommand([...words, '--config', admin.file], {})
  t.match(JSON.parse(stdout), { hitQuotas: 1, quotas: 1, hit: [{ key: key.id, name: 'Busy' }] })
  t.match(await page.locator('.diff .added').innerText(), /perMinute: 1\b/)
  await page.getByRole('button', { name: 'Save', exact: true }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByText('Every gateway goes by it.').waitFor()
  await page.getByRole('link', { name: 'Watch what it does' }).press('Enter')
  await page.getByText('Keys and refusals of the plan free only').waitFor()
  t.ok(performance.now() - began < 30_000, 'within 30 s')
  t.match(readFileSync(admin.file, 'utf8'), /free: \{ perMinute: 1, perDay: 1000 \}/)
  // Three, so that one is refused even if a minute begins between them.
  for (let i = 0; i < 3; i++) {
    const { headers: told } = await admin.gateway.call('GET', '/v1/x', undefined, headers)
    t.equal(told['x-ratelimit-limit'], '1')
  }
  await page.getByRole('link', { name: 'Busy' }).first().waitFor()
})

/** The id or the words of what has the focus. */
function focused(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement.id || document.activeElement.innerText')
}

test('roles hide what they don’t allow', async (t, open) => {
  const tokens = `alice:${token},bob/support:token-of-bob-012345,eve/read:token-of-eve-012345`
  const admin = await startWithRedis(t, { tokens })
  const { key } = await furnish(admin)
  const seen: Record<string, string[]> = {}
  const words = [
    'Reset the quota',
    'Rotate the token',
    'Revoke',
    'Make a key',
    'Read the file again',
  ]
  for (const [name, secret] of [
    ['alice', token],
    ['bob', 'token-of-bob-012345'],
    ['eve', 'token-of-eve-012345'],
  ] as const) {
    const page = await open(admin.url, { token: secret })
    await page.getByText(name, { exact: false }).first().waitFor()
    const shown = new Set<string>()
    for (const place of [`callers/${key.id}`, 'callers', 'configuration']) {
      await go(page, place)
      for (const word of words) {
        if (await page.getByRole('button', { name: word }).count()) shown.add(word)
      }
    }
    seen[name] = words.filter((word) => shown.has(word))
  }
  t.strictSame(seen, { alice: words, bob: words.slice(0, 2), eve: [] })
})

test('each page reads well with nothing to show', async (t, open) => {
  const { url } = await startWithRedis(t)
  const page = await open(url, { expected: /^40[04] GET \/admin\/(?:keys|usage)\/%25/ })
  const said: Readonly<Record<(typeof places)[number], RegExp>> = {
    now: /No requests yet.*curl http/s,
    callers: /There are no keys yet.*tollgate keys create/s,
    plans: /free\s+60\s+1,000/,
    backends: /animals/,
    retirements: /Nothing is deprecated/,
    configuration: /gateway\.yaml/,
    changes: /console\.sign-in|Nothing was changed/,
  }
  for (const place of places) {
    await go(page, place)
    const text = await page.locator('main').innerText()
    t.match(text, said[place], place)
    t.notMatch(text, /undefined|NaN|\[object|null/, place)
    t.match(await page.title(), / · Tollgate$/)
    await picture(page, `${place}-empty`)
  }
  for (const odd of ['callers/%', 'nowhere', '//', '%00/x']) {
    await go(page, odd)
    t.ok(await page.locator('h1').isVisible(), odd)
  }
})

test('each page shows one key, and none of them another path or a mistake of ours', async (t, open) => {
  const admin = await startWithRedis(t, { more: retiring })
  const { key, id } = await furnish(admin)
  const page = await open(admin.url)
  for (const place of [...places, 'plans/free', `callers/${key.id}`, `requests/${id}`]) {
    await go(page, place)
    const text = await page.locator('main').innerText()
    t.notMatch(text, /undefined|NaN|\[object/, place)
    if (!/plans|backends|configuration|changes/.test(place)) t.match(text, /Acme/, place)
  }
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
  const page = await open(url, { place: 'callers', expected: /^404 GET \/admin\/requests\// })
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
    shownBy.push(`callers/${key.id}`, `requests/hostile-${i}`)
  }
  await admin.gateway.app.core.tallying.flush()
  const page = await open(admin.url, { viewport: { width: 320, height: 800 } })
  for (const place of [...places, 'plans/free', ...shownBy]) {
    await go(page, place)
    t.equal(await page.locator('#app img, #app script').count(), 0, place)
    t.ok(await isNarrow(page), `${place} doesn’t scroll sideways`)
    if (place === 'callers') {
      for (const name of hostile) t.ok(await page.getByText(name).count(), name.slice(0, 40))
    }
  }
  t.equal(await page.evaluate('String(globalThis.isHacked)'), 'undefined')
})

test('a token is shown once: not after Back or a reload, and it is kept nowhere', async (t, open) => {
  const admin = await startWithRedis(t)
  const page = await open(admin.url, { place: 'callers' })
  await page.getByRole('button', { name: 'Make a key' }).click()
  await page.getByLabel('Name').fill('Acme')
  await page.keyboard.press('Enter')
  const field = page.locator('dialog .token')
  await field.waitFor()
  const shown = await field.innerText()
  t.match(shown, /^tg_/)
  const isAnywhere = (): Promise<boolean> =>
    page.evaluate<boolean>(
      `[document.documentElement.innerHTML, location.href, JSON.stringify(history.state),
        JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }),
        JSON.stringify(performance.getEntries()), window.name, document.cookie,
        ...[...document.querySelectorAll('input')].map((each) => each.value)]
        .some((text) => text.includes(${JSON.stringify(shown)}))`,
    )
  t.ok(await isAnywhere(), 'it is there once')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('link', { name: 'Acme' }).waitFor()
  t.notOk(await isAnywhere(), 'gone when the dialog is closed')
  await page.getByRole('link', { name: 'Acme' }).click()
  await page.getByRole('button', { name: 'Rotate the token' }).click()
  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  await field.waitFor()
  t.not(await field.innerText(), shown)
  const rotated = await field.innerText()
  await page.goBack()
  await page.getByRole('heading', { name: 'Callers' }).waitFor()
  await page.goForward()
  await page.getByRole('heading', { name: 'Acme' }).waitFor()
  t.equal(await page.getByText(rotated).count(), 0, 'gone after Back')
  await page.reload()
  await page.getByRole('heading', { name: 'Acme' }).waitFor()
  t.equal(await page.getByText(rotated).count(), 0, 'and after a reload')
  t.notOk(await isAnywhere())
  await page.goBack()
  t.notOk(await isAnywhere())
})

test('a second click does nothing twice', async (t, open) => {
  const { url, ask } = await startAdmin(t)
  const page = await open(url, { place: 'callers' })
  const twice = async (open: string, more: () => Promise<void>): Promise<void> => {
    await page.getByRole('button', { name: open }).click()
    await more()
    await page.evaluate(
      `for (const _ of [1, 2]) document.querySelector('dialog[open] form').requestSubmit()`,
    )
    await page.locator('dialog .token').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
  }
  await twice('Make a key', () => page.getByLabel('Name').fill('Acme'))
  await page.getByRole('link', { name: 'Acme' }).click()
  await twice('Rotate the token', () => Promise.resolve())
  const lines = JSON.parse((await ask('GET', '/admin/audit')).text) as { what: string }[]
  const ofKeys = lines.map(({ what }) => what).filter((what) => what.startsWith('keys.'))
  t.strictSame(ofKeys, ['keys.rotate', 'keys.create'])
})

test('a browser whose clock is wrong by two days shows the ages and days of the gateway', async (t, open) => {
  const admin = await startAdmin(t, { more: retiring })
  const { key } = await furnish(admin)
  const page = await open(admin.url)
  for (const days of [2, -2]) {
    await page.clock.setFixedTime(Date.now() + days * 86_400_000)
    await go(page, 'changes')
    await go(page, `callers/${key.id}`)
    t.match(await page.locator('.facts').first().innerText(), /Token last used\s+\d+ (?:s|min) ago/)
    const today = new Date().toISOString().slice(0, 10)
    await page.getByText('The same as a table').first().click()
    t.match(await page.locator('main details').first().textContent(), today, `${days} days`)
  }
})

test('callers that still call what goes are saved as a file, and a refusal isn’t', async (t, open) => {
  const admin = await startAdmin(t, { more: retiring })
  await furnish(admin, '=1+1')
  const page = await open(admin.url, {
    place: 'retirements',
    expected: /^401 GET \/admin\/deprecations$/,
  })
  const save = page.getByRole('button', { name: 'Save all callers as CSV' })
  const [download] = await Promise.all([page.waitForEvent('download'), save.click()])
  t.equal(download.suggestedFilename(), 'deprecated-calls.csv')
  const { text } = await admin.ask('GET', '/admin/deprecations', undefined, { accept: 'text/csv' })
  t.equal(readFileSync(await download.path(), 'utf8'), text)
  t.match(text, `"'=1+1"`, 'a name is no formula')
  let files = 0
  page.on('download', () => files++)
  await page.context().clearCookies()
  await save.click()
  await page.getByLabel('Admin token').waitFor()
  t.equal(files, 0)
})

test('changes are filtered by key and by operator', async (t, open) => {
  const { url, ask, gateway } = await startAdmin(t)
  for (const name of ['Acme', 'Other']) {
    const { key } = await gateway.key({ name })
    await ask('POST', `/admin/keys/${key.id}/disable`)
  }
  const page = await open(url, { place: 'changes' })
  const rows = page.getByRole('row').filter({ hasText: 'keys.disable' })
  await until(async () => (await rows.count()) === 2)
  await page.getByLabel('Key').fill('Acme')
  await page.keyboard.press('Enter')
  await until(async () => (await rows.count()) === 1)
  t.match(await page.locator('.same').innerText(), 'tollgate audit --key Acme')
  await page.getByLabel('By').fill('nobody')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing was changed').waitFor()
})

test('another backend that would break something is told', async (t, open) => {
  const { url } = await startAdmin(t, { upstreamMore: 'probes: [ { request: GET /v1/pets } ]' })
  const other = await startUpstream(t, (_request, response) => response.writeHead(404).end())
  const page = await open(url, { place: 'backends' })
  await page.getByLabel('Address').fill(other.url)
  await page.keyboard.press('Enter')
  await page.getByText('It would break something for callers.').waitFor()
  t.match(await page.getByRole('region', { name: 'What was found' }).innerText(), /404/)
})

test('Now shows what was sent, live', async (t, open) => {
  const admin = await startWithRedis(t)
  const { gateway } = admin
  const { key, headers } = await gateway.key({
    name: 'Acme',
    limits: { perMinute: 'unlimited', perDay: 20 },
  })
  const page = await open(admin.url)
  const sent = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      await gateway.call('GET', '/v1/x', undefined, { ...headers, 'x-request-id': `live-${i}` })
    }
  }
  await settled(page)
  await sent(25)
  const strip = page.locator('.strip')
  await strip.getByText('25 in the last minute').waitFor()
  await strip.getByText('5 requests').waitFor()
  await strip.getByText('20.0 %').or(strip.getByText('20 %')).first().waitFor()
  await page.getByRole('link', { name: 'Acme' }).first().waitFor()
  await page.getByText('The same as a table').click()
  const numbers = page.getByRole('region', { name: /Requests of each minute/ }).locator('td.number')
  const sum = (await numbers.allInnerTexts()).reduce((all, each) => all + Number(each), 0)
  t.equal(sum, 25, 'the table beside the chart has the same')
  await page.getByRole('button', { name: 'Pause' }).click()
  await sent(1)
  await page.getByText('Paused at').waitFor()
  await until(async () => (await admin.ask('GET', '/admin/live')).text.includes('"requests":26'))
  t.equal(await strip.getByText('25 in the last minute').count(), 1)
  await page.getByRole('button', { name: 'Go on' }).click()
  await strip.getByText('26 in the last minute').waitFor()
  await page.getByLabel('a day').check()
  await page.getByText('In 24 hours').waitFor()
  await picture(page, 'now-live')
  await page
    .getByRole('region', { name: /The latest/ })
    .getByRole('link')
    .first()
    .click()
  await page.getByText('429 rate_limit_exceeded.').waitFor()
  await page.getByRole('link', { name: 'Acme' }).click()
  await page.getByRole('heading', { name: 'Acme' }).waitFor()
  t.match(page.url(), key.id)
})

test('the keyboard alone is enough', async (t, open) => {
  const admin = await startWithRedis(t)
  const { key } = await furnish(admin)
  const page = await open(admin.url, { place: 'plans' })
  await settled(page)
  await page.keyboard.press('/')
  await until(async () => (await focused(page)) === 'search')
  await page.keyboard.type('a/b?')
  t.equal(await page.locator('#search').inputValue(), 'a/b?', 'fields take these keys')
  await go(page, `callers/${key.id}`)
  await page.keyboard.press('?')
  const dialog = page.getByRole('dialog', { name: 'Keys' })
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Keys' }).press('Enter')
  await dialog.getByRole('checkbox').press(' ')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  t.equal(await focused(page), 'Keys', 'the focus is back')
  await page.keyboard.press('/')
  await page.keyboard.press('?')
  t.equal(await page.locator('#search, dialog[open]').count(), 0, 'single keys are off')
  const revoke = page.getByRole('button', { name: 'Revoke' })
  await revoke.focus()
  await page.keyboard.press('Enter')
  const asking = page.getByRole('dialog', { name: 'Revoke' })
  await asking.waitFor()
  t.ok(await asking.getByRole('button', { name: 'Revoke' }).isDisabled(), 'its name is to be typed')
  await page.keyboard.press('Escape')
  await asking.waitFor({ state: 'hidden' })
  t.equal(await focused(page), 'Revoke', 'the focus is back')
  await page.reload()
  await settled(page)
  const skip = page.getByRole('link', { name: 'Skip to the content' })
  await skip.focus()
  t.ok(await skip.isVisible())
  await page.keyboard.press('Enter')
  t.equal(await focused(page), 'Acme')
  t.match(page.url(), `#/callers/${key.id}`, 'the page stays')
})

test('axe finds nothing on any page, in light and dark', async (t, open) => {
  const admin = await startWithRedis(t, { more: retiring, admin: saving })
  const { key, id } = await furnish(admin)
  await admin.ask('PUT', `/admin/bans/${key.id}`, { for: '30m' })
  const page = await open(admin.url, { token: '', bypassCSP: true })
  await page.evaluate(axe)
  t.strictSame(await violations(page), [], 'sign-in')
  await signIn(page)
  const inBoth = async (name: string): Promise<void> => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      t.strictSame(await violations(page), [], `${name}, ${colorScheme}`)
      await picture(page, `${name}-${colorScheme}`)
    }
  }
  for (const place of [...places, 'plans/free', `callers/${key.id}`, `requests/${id}`]) {
    await go(page, place)
    await inBoth(place.replace(/\/.*/, '-one'))
  }
  await page.getByRole('button', { name: 'Revoke' }).click()
  await inBoth('dialog')
  await go(page, 'plans/free')
  await page.getByLabel('A minute', { exact: true }).fill('1')
  await page.locator('.diff').waitFor()
  await inBoth('tried-limit')
})

test('no page scrolls sideways at 320 px or at 200 %, and nothing moves that need not', async (t, open) => {
  const admin = await startWithRedis(t, { more: retiring })
  const { key, id } = await furnish(admin)
  const all = [...places, 'plans/free', `callers/${key.id}`, `requests/${id}`]
  const sizes = {
    320: { viewport: { width: 320, height: 800 } },
    'of 200 %': { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2 },
  }
  for (const [name, size] of Object.entries(sizes)) {
    const page = await open(admin.url, { ...size, reducedMotion: 'reduce' })
    for (const place of all) {
      await go(page, place)
      t.ok(await isNarrow(page), `${place} ${name}`)
      t.equal(await page.evaluate('document.getAnimations().length'), 0)
      await picture(page, `${place.replace(/\/.*/, '-one')}-${name.replaceAll(/\W+/g, '')}`)
    }
  }
})

test('the console is at most 80 KB, compressed', async (t) => {
  const { url } = await startWithRedis(t)
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  const sizes: Promise<number>[] = []
  const encodings = new Set<string>()
  page.on('requestfinished', (request) => {
    sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize))
    void request
      .response()
      .then((response) => encodings.add(response?.headers()['content-encoding'] ?? ''))
  })
  await page.goto(`${url}/console/`)
  await page.getByLabel('Admin token').waitFor()
  // The pages come behind the first one.
  await page.waitForLoadState('networkidle')
  const bytes = (await Promise.all(sizes)).reduce((sum, each) => sum + each, 0)
  t.strictSame([...encodings], ['br'])
  t.ok(sizes.length > 50 && bytes > 10_000 && bytes <= 80 * 1_024)
  t.comment(`${sizes.length} files, ${bytes} bytes`)
})

test('limits for a time, grants and shadows are given by hand', async (t, open) => {
  const admin = await startWithRedis(t, {
    admin: saving,
    more: `${plans}
deprecations: [ { operation: "GET /v1/old", since: 2025-12-05, sunset: 2099-01-01 } ]`,
  })
  const { key, headers } = await admin.gateway.key({ name: 'Busy' })
  const ask = async () => (await admin.gateway.call('GET', '/v1/x', undefined, headers)).headers
  await ask()
  const page = await open(admin.url, { place: `callers/${key.id}`, expected: /^400 PATCH/ })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const dialog = page.getByRole('dialog')

  await button('Grant more').press('Enter')
  await dialog.getByRole('button', { name: 'Grant more' }).press('Enter')
  await dialog.getByText('Say how much more').waitFor()
  await dialog.getByLabel('More for this minute').fill('40')
  await dialog.getByLabel('Why, for other operators').fill('A runaway job')
  await dialog.getByRole('button', { name: 'Grant more' }).press('Enter')
  await page.getByText(/40 for the minute, by .+: A runaway job/).waitFor()
  await until(async () => (await ask())['x-ratelimit-limit'] === '100')

  await button('Change plan or limits').press('Enter')
  await dialog.getByLabel('A minute, if not').fill('600')
  await dialog.getByLabel('Until this time').fill('2001-01-01T00:00')
  await dialog.getByRole('button', { name: 'Change plan or limits' }).press('Enter')
  await dialog.getByRole('alert').waitFor()
  await dialog.getByLabel('Until this time').fill('2099-01-01T00:00')
  await dialog.getByRole('button', { name: 'Change plan or limits' }).press('Enter')
  await page.getByText(/600 a minute until\s+2099-01-01 00:00:00Z/).waitFor()
  await until(async () => (await ask())['x-ratelimit-limit'] === '640')

  await page.goto(`${admin.url}/console/#/plans/free`)
  await page.getByLabel('A minute', { exact: true }).fill('30')
  await page.getByLabel('only count, as a shadow').check()
  await page.locator('.diff .added').getByText('shadow: { perMinute: 30 }').waitFor()
  await button('Save').press('Enter')
  await dialog.getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByText('Every gateway goes by it.').waitFor()
  await page.getByRole('heading', { name: 'Shadow limits' }).waitFor()
  await page.getByText('30 a minute, 1,000 a day.').waitFor()

  await page.goto(`${admin.url}/console/#/retirements`)
  await page.getByText('Extend it for a caller').click()
  await page.getByLabel('Id of the key').fill(key.id)
  await page.getByLabel('Until').fill('2099-06-01')
  await button('Show the change').press('Enter')
  await page.locator('.diff .added').getByText(`key: ${key.id}`).waitFor()
})
