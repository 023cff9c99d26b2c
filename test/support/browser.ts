import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { pathExpression } from '../../gateway/front/http/paths.ts'
import { startAdmin, type AdminOptions } from './admin.ts'
import { operationLines } from './openapi-document.ts'
import { token as usualToken } from './operator.ts'
import { root } from './process.ts'
import { bound } from './promises.ts'
import { startRedis } from './redis.ts'
import { until } from './until.ts'

/** The pages of the menu, by their places. */
export const places = [
  'now',
  'keys',
  'plans',
  'backends',
  'deprecations',
  'configuration',
  'audit',
] as const

/** A configuration with an operation that goes. */
export const retiring =
  'deprecations: [ { operation: GET /v1/old, since: 2026-01-01, sunset: 2099-01-01 } ]'

/** An admin address where the file may be saved. */
export const saving = '{ host: 127.0.0.1, port: 0, save: true }'

export type OpenOptions = BrowserContextOptions &
  Readonly<{
    /** Signs in with it; an empty one stays at the sign-in. */
    token?: string
    /** The place to open after `#/`. */
    place?: string
    /** A page for callers to open, in place of the console. */
    at?: string
    /** Faults that this test brings about by itself. */
    expected?: RegExp
  }>

/** Opens the console of an admin address, or a page for callers, in a context of its own. */
export type Open = (url: string, options?: OpenOptions) => Promise<Page>

/** A test with real Chromium: after it, no page may have done what no page may do. */
export type BrowserTest = (name: string, act: (t: Test, open: Open) => Promise<void>) => void

/** Chromium, for a file of tests. */
export async function startBrowser(t: Test) {
  const browser = await runningBrowser(t)
  const test: BrowserTest = (name, act) => {
    void t.test(name, async (t) => {
      const faults: string[] = []
      await act(t, (url, options) => open(t, browser, url, faults, options))
      t.strictSame(faults, [], 'no page did what it may not')
    })
  }
  return { browser, test }
}

/** Chromium of a process that runs several files of tests, which share it. */
let shared: Browser | undefined

async function runningBrowser(t: Test): Promise<Browser> {
  if (shared?.isConnected()) return shared
  const browser = await chromium.launch({
    executablePath: chromiumBinary(),
    // As root there is none, nor in one that was unpacked; its pages are ours.
    chromiumSandbox: false,
    args: flags,
  })
  const close = (): Promise<void> => browser.close()
  if (process.channel) {
    // Its parent names the files, and leaves it when there are no more.
    process.once('disconnect', () => void close())
    shared = browser
  } else t.teardown(close)
  return browser
}

const flags = [
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-dev-shm-usage',
  '--no-first-run',
  // Nothing but this machine can be reached, and a name can be made to lead to it.
  '--host-resolver-rules=MAP rebound.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
]

/** Where `npm test` has found or put Chromium; without it these tests fail, they are not skipped. */
function chromiumBinary(): string {
  const { CHROMIUM_BIN, PATH = '' } = process.env
  if (CHROMIUM_BIN) return CHROMIUM_BIN
  const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
  const places = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)))
  const found = [join(root, '.cache/chromium/chromium'), ...places].find((file) => existsSync(file))
  if (found !== undefined) return found
  throw new Error(
    'The tests of the console need Chromium. Install the package chromium, or set CHROMIUM_BIN to a Chromium or Chrome.',
  )
}

async function open(
  t: Test,
  browser: Browser,
  url: string,
  faults: string[],
  options: OpenOptions = {},
): Promise<Page> {
  const { token = usualToken, place = '', at, expected, ...contextOptions } = options
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    ...contextOptions,
  })
  t.teardown(() => context.close())
  context.setDefaultTimeout(bound(5_000))
  const note = (fault: string): void => {
    if (!expected?.test(fault)) faults.push(fault)
  }
  await context.exposeBinding('tellViolation', (_source, text: string) => note(`policy: ${text}`))
  await context.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', (event) =>
      tellViolation(event.violatedDirective + ' ' + event.blockedURI))
    // A page gives up a question after a time, which a busy machine may need to start a thread.
    const timeout = AbortSignal.timeout.bind(AbortSignal)
    AbortSignal.timeout = (ms) => timeout(ms * ${bound(1_000) / 1_000})`,
  })
  const page = await context.newPage()
  watch(page, new URL(url).host, note, at === undefined ? isDocumented : () => true)
  await page.goto(at === undefined ? `${url}/console/#/${place}` : `${url}${at}`)
  if (at === undefined && token !== '') await signIn(page, token)
  return page
}

/** Notes everything that no page may do. */
function watch(
  page: Page,
  host: string,
  note: (fault: string) => void,
  mayAsk: (method: string, path: string) => boolean,
): void {
  page.on('pageerror', (error) => note(`error: ${error.message}`))
  page.on('console', (message) => {
    // The browser's own lines about answers; these are noted below.
    const isOfAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isOfAnswer) note(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const { host: asked, pathname } = new URL(request.url())
    if (asked !== host) note(`another host: ${request.url()}`)
    else if (!mayAsk(request.method(), pathname)) {
      note(`not documented: ${request.method()} ${pathname}`)
    }
  })
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (response.status() >= 400) {
      note(`${response.status()} ${response.request().method()} ${pathname}`)
    }
  })
  page.on('requestfailed', (request) => {
    const { errorText = '' } = request.failure() ?? {}
    // A page that is left ends what it asks.
    if (errorText !== 'net::ERR_ABORTED') note(`${errorText} ${new URL(request.url()).pathname}`)
  })
}

const documented = operationLines(join(root, 'config/openapi/admin.yaml')).map(
  ({ method, path }) => ({ method, expression: pathExpression(path) }),
)

/** Whether admin.yaml has an operation; the files of the console are below a digest. */
function isDocumented(method: string, path: string): boolean {
  return (
    /^\/console\/[0-9a-f]{16}\//.test(path) ||
    documented.some((each) => each.method === method && each.expression.test(path))
  )
}

/** Signs in as people do. */
export async function signIn(page: Page, token = usualToken): Promise<void> {
  await page.getByLabel('Admin token').fill(token)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

/** Goes to a place after `#/` without loading anew, and waits until it shows its data. */
export async function go(page: Page, place: string): Promise<void> {
  // Two frames later the page of before is gone.
  await page.evaluate(`new Promise((shown) => {
    location.hash = ${JSON.stringify(`#/${place}`)}
    requestAnimationFrame(() => requestAnimationFrame(() => shown()))
  })`)
  await settled(page)
}

/** Waits until a page has all that it asks for. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1').waitFor()
  await until(async () => (await page.getByText('Loading …').count()) === 0)
}

/** Keeps a picture for people, if the environment's PICTURES names a folder. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['PICTURES']
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}

/** The id or the words of what has the focus. */
export function focused(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement.id || document.activeElement.innerText')
}

/** A gateway with a Redis of its own. */
export async function startWithRedis(t: Test, options: AdminOptions = {}) {
  const redis = await startRedis(t)
  return startAdmin(t, { store: `redis: "${redis.url}"`, ...options })
}

/** A key that is refused, banned, and still calls an operation that goes; everything that pages show is there. */
export async function furnish(
  { gateway, ask }: Awaited<ReturnType<typeof startAdmin>>,
  name = 'Acme',
) {
  const { key, token: secret, headers } = await gateway.key({ name, limits: { perMinute: 2 } })
  const send = (path: string, id: string) =>
    gateway.call('GET', path, undefined, { ...headers, 'x-request-id': id })
  for (let i = 0; i < 2; i++) await send('/v1/old', `admitted-${i}`)
  const id = `order-${key.id}`
  // Three, so that one is refused even if a minute begins between them.
  for (let i = 0; i < 3; i++) await send('/v1/x', id)
  await until(async () => (await ask('GET', `/admin/requests/${id}`)).status === 200)
  await gateway.app.front.flushCounts()
  return { key, secret, id, headers }
}

/** The text of axe, for `page.evaluate`. */
export const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8')

type Violation = Readonly<{
  id: string
  nodes: readonly Readonly<{ html: string; failureSummary: string }>[]
}>

/** Rules of axe that look at colours; what the others find is the same in the dark. */
const ofColours = ['color-contrast', 'link-in-text-block']

/** The findings of axe on a page, in short; of all rules or of some. */
export async function violations(page: Page, runOnly?: readonly string[]): Promise<string[]> {
  // No rule needs the text of style sheets, which axe would fetch once more.
  const options = { resultTypes: ['violations'], preload: false, runOnly }
  const { violations: all } = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(document, ${JSON.stringify(options)})`,
  )
  return all.map(({ id, nodes }) => {
    const [{ html = '', failureSummary = '' } = {}] = nodes
    return `${id} (${nodes.length}): ${html.slice(0, 200)} ${failureSummary.slice(0, 200)}`
  })
}

export function isNarrow(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.scrollingElement.scrollWidth <= innerWidth')
}

/** Looks at a page as it is, narrow and wide, light and dark. */
export async function looksWell(t: Test, page: Page, name: string): Promise<void> {
  await page.evaluate(axe)
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await until(() => isNarrow(page))
      const rules = colorScheme === 'dark' ? ofColours : undefined
      t.strictSame(await violations(page, rules), [], `${name} ${width} ${colorScheme}`)
      await picture(page, `${name}-${width}-${colorScheme}`)
    }
  }
}

/** Presses the button of an action for a key: the one that is shown, or one of the menu. */
export async function pressAction(page: Page, name: string): Promise<void> {
  const group = page.getByRole('group', { name: 'What can be done' })
  await group.waitFor()
  const button = group.getByRole('button', { name, exact: true })
  if (!(await button.isVisible())) await group.getByRole('button', { name: 'More' }).press('Enter')
  await button.press('Enter')
}

/** The names of the bars on a page. */
export async function barsOf(page: Page): Promise<string[]> {
  const bars = page.locator('.bars .bar')
  await bars.first().waitFor()
  return (await bars.allInnerTexts()).map((text) => text.split(':')[0] ?? '')
}
