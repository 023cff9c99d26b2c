import t from 'tap'
import {
  axe,
  focused,
  furnish,
  go,
  isNarrow,
  picture,
  places,
  retiring,
  saving,
  settled,
  signIn,
  startBrowser,
  startWithRedis,
  violations,
} from '../support/browser.ts'

const { browser, test } = await startBrowser(t)

test('the keyboard alone is enough', async (t, open) => {
  const admin = await startWithRedis(t)
  const { key } = await furnish(admin)
  const page = await open(admin.url, { place: 'plans' })
  await settled(page)
  await go(page, 'backends')
  t.equal(await focused(page), 'Backends')
  await go(page, `keys/${key.id}`)
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
  const skip = page.getByRole('link', { name: 'Skip to content' })
  await skip.focus()
  t.ok(await skip.isVisible())
  await page.keyboard.press('Enter')
  t.equal(await focused(page), 'Acme')
  t.match(page.url(), `#/keys/${key.id}`, 'the page stays')
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
  for (const place of [...places, 'plans/free', `keys/${key.id}`, `requests/${id}`]) {
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
  const all = [...places, 'plans/free', `keys/${key.id}`, `requests/${id}`]
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
