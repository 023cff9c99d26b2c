import { readFileSync } from 'node:fs'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import {
  focused,
  furnish,
  go,
  picture,
  places,
  retiring,
  saving,
  settled,
  signIn,
  startBrowser,
  startWithRedis,
} from '../support/browser.ts'
import { runCommand } from '../support/command.ts'
import { plans, startUpstream } from '../support/gateway.ts'
import { token } from '../support/operator.ts'
import { until } from '../support/until.ts'

const { test } = await startBrowser(t)

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
    t.match(
      await page.locator('main .facts').first().innerText(),
      /Token last used\s+\d+ (?:s|min) ago/,
    )
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
  await page.getByLabel('Key', { exact: true }).fill('Acme')
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
  for (const name of ['Gateway overhead', 'Backends’ time']) {
    const tile = await strip.locator('.tile', { hasText: name }).innerText()
    t.match(tile, /\np50 [\d.]+ ms\np99 [\d.]+ ms$/)
  }
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
  await gateway.app.core.tallying.flush()
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
  await page.getByText('by a ban or another reason', { exact: true }).first().waitFor()
  t.match(page.url(), key.id)
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
