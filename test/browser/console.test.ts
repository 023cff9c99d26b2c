import { readFileSync } from 'node:fs'
import t from 'tap'
import { startAdmin } from '../support/admin.ts'
import {
  focused,
  furnish,
  go,
  picture,
  places,
  pressAction,
  saving,
  settled,
  signIn,
  startBrowser,
  startWithRedis,
} from '../support/browser.ts'
import { runCommand } from '../support/command.ts'
import { token } from '../support/operator.ts'

const { test } = await startBrowser(t)

test('an operator signs in and out, and a wrong token is told', async (t, open) => {
  const { url } = await startWithRedis(t)
  const page = await open(url, { token: '', expected: /^401 POST \/console\/session$/ })
  await picture(page, 'sign-in')
  await page
    .getByText('ADMIN_TOKEN, or with the one that npm start keeps in data/admin-token.')
    .waitFor()
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
  const page = await open(admin.url, {
    expected: /^404 GET \/admin\/requests\//,
    permissions: ['clipboard-write'],
  })
  const ofCli = async (...words: string[]) => {
    const { stdout } = await runCommand(['explain', ...words, '--json', '--config', admin.file], {})
    return JSON.parse(stdout) as { sentence: string; answers?: { sentence: string }[] }
  }
  const began = performance.now()
  t.equal(await focused(page), 'search', 'the field has the focus')
  for (const [what, text] of Object.entries({
    request: id,
    key: key.id,
    name: 'Acme',
    token: secret,
  })) {
    await page.keyboard.insertText(text)
    await page.keyboard.press('Enter')
    await page.locator('.sentence').waitFor()
    const shown = await page.locator('.sentence').innerText()
    if (what === 'request') {
      const [answer] = (await ofCli(text)).answers ?? []
      t.equal(shown, `429 rate_limit_exceeded. ${answer?.sentence}`)
    } else {
      // A minute may end between the two.
      const withoutMinutes = (text: string): string => text.replace(/ \(in \d+ min\)/, '')
      t.equal(withoutMinutes(shown), withoutMinutes((await ofCli(key.id)).sentence), what)
      t.match(shown, /banned until/)
    }
    t.notMatch(page.url(), secret.slice(20))
    await page.getByRole('button', { name: 'Copy answer' }).click()
    await page.getByText('Copied.', { exact: true }).waitFor()
    await go(page, 'plans')
    await page.locator('#search').focus()
  }
  for (const place of [`requests/${id}`, `keys/${key.id}`]) {
    await admin.ask('PUT', `/admin/bans/${key.id}`, { for: '30m' })
    await go(page, place)
    const lift = page.getByRole('button', { name: 'Lift the ban' })
    await lift.waitFor()
    for (let tabs = 0; tabs < 40 && (await focused(page)) !== 'Lift the ban'; tabs++) {
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Lift the ban' })
    await dialog.getByText('works again').waitFor()
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
  await admin.gateway.app.front.flushCounts()
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
  await page.getByText('Every gateway runs it.').waitFor()
  await page.getByRole('link', { name: 'Watch the effect' }).press('Enter')
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
  const words = ['Reset the quota', 'Rotate the token', 'Revoke', 'Create key', 'Reload the file']
  for (const [name, secret] of [
    ['alice', token],
    ['bob', 'token-of-bob-012345'],
    ['eve', 'token-of-eve-012345'],
  ] as const) {
    const page = await open(admin.url, { token: secret })
    await page.getByText(name, { exact: false }).first().waitFor()
    const shown = new Set<string>()
    for (const place of [`keys/${key.id}`, 'keys', 'configuration']) {
      await go(page, place)
      const more = page.getByRole('button', { name: 'More', exact: true })
      if (await more.count()) await more.click()
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
  const page = await open(admin.url, { place: 'keys' })
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Acme')
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
  await pressAction(page, 'Rotate the token')
  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  await field.waitFor()
  t.not(await field.innerText(), shown)
  const rotated = await field.innerText()
  await page.goBack()
  await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
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
  const page = await open(url, { place: 'keys' })
  const twice = async (open: () => Promise<void>, more: () => Promise<void>): Promise<void> => {
    await open()
    await more()
    await page.evaluate(
      `for (const _ of [1, 2]) document.querySelector('dialog[open] form').requestSubmit()`,
    )
    await page.locator('dialog .token').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
  }
  const make = () => page.getByRole('button', { name: 'Create key' }).click()
  await twice(make, () => page.getByRole('textbox', { name: 'Name' }).fill('Acme'))
  await page.getByRole('link', { name: 'Acme' }).click()
  await twice(
    () => pressAction(page, 'Rotate the token'),
    () => Promise.resolve(),
  )
  const lines = JSON.parse((await ask('GET', '/admin/audit')).text) as { what: string }[]
  const ofKeys = lines.map(({ what }) => what).filter((what) => what.startsWith('keys.'))
  t.strictSame(ofKeys, ['keys.rotate', 'keys.create'])
})
