import { existsSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { configOf } from '../gateway/office/config/load.ts'
import type { ConfigFile } from '../gateway/office/config/file.ts'
import { fileSchema } from '../gateway/office/config/schema.ts'
import { windows } from '../shared/windows.ts'
import { statusByCode } from '../shared/refusal.ts'
import { messagesOf } from './support/configuration.ts'
import { root, startProcess } from './support/process.ts'
import { guides, table, textOf } from './support/readme.ts'
import { defaultsOf, settingsOf } from './support/settings.ts'

/** Every README of the repository: the first one, and those of the rooms. */
const readmes = [
  'README.md',
  ...['backend', 'config', 'gateway', 'shared', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?:^|[\\/])README\.md$/.test(name))
      .map((name) => join(folder, name)),
  ),
]

/** The pages for operators about limits, and about JWT. */
const [pageOfPlans, ...pagesBeside] = [
  'config/plans.md',
  'config/tokens.md',
  'config/jwt.md',
] as const
/** The page that says what is promised, and by which test. */
const pageOfPromises = 'config/exactness.md'
const others = [
  ...['config/beside-others.md', 'config/plugin.md', '.github/SECURITY.md', 'CONTRIBUTING.md'],
  ...['backend', 'browsers', 'nginx', 'caddy'].map((name) => `config/guides/${name}.md`),
]
const pages = [pageOfPlans, ...pagesBeside, pageOfPromises, ...others, ...guides]

async function helpOf(t: Test, file: string): Promise<string> {
  const { ended, output } = startProcess(t, file, { args: ['--help'] })
  t.equal((await ended).code, 0)
  return output()
}

/** Names in the table of settings that stand for several. */
const standIns = {
  ADDRESS: ['listen', 'admin', 'decide'],
  SHORT: ['perSecond', 'perMinute', 'perHour'],
  LONG: ['perDay', 'perWeek', 'perMonth'],
  WINDOW: windows.map(({ limit }) => limit),
}

/** The rows of that table, one for each setting. */
function settingsTold(): string[][] {
  return Object.entries(standIns).reduce(
    (rows, [word, names]) =>
      rows.flatMap(([place = '', ...cells]) =>
        place.split('.').includes(word)
          ? names.map((name) => [place.replace(word, name), ...cells])
          : [[place, ...cells]],
      ),
    table('config/README.md', 'setting'),
  )
}

t.test('every setting is told, with what may be there', (t) => {
  const told = settingsTold().map(([place = '', expected = '']) => [place, expected])
  // The page says once how a duration is written.
  const expected = [...settingsOf(fileSchema)].map(([place, text]) => [
    place,
    text.replace(/,? such as 50ms, 1s, 5m or 24h/, ''),
  ])
  t.strictSame(told.sort(), expected.sort())
  t.end()
})

t.test('the page of plans tells every window, by examples that hold', (t) => {
  const told = table(pageOfPlans, 'setting').map(([setting = '', name = '']) => [setting, name])
  t.strictSame(
    told,
    windows.map(({ limit, name }) => [limit, name]),
  )
  const pages = [pageOfPlans, ...pagesBeside].map(textOf).join('\n')
  const examples = [...pages.matchAll(/^```yaml\n(.*?)^```/gms)]
  t.ok(examples.length > 6)
  for (const [, yaml = ''] of examples) {
    const base = {
      plans: { free: { perMinute: 60, perDay: 1000 }, pro: { perMinute: 60, perDay: 1000 } },
      upstreams: { api: { targets: ['http://127.0.0.1:1'] } },
      routes: [{ path: '/x', upstream: 'api' }],
    }
    const written = parse(yaml) as object
    // A recipe is a part of a route.
    const route = { path: '/x', upstream: 'api', cost: { estimate: 1, ...written } }
    const whole = 'from' in written ? { routes: [route] } : written
    const text = stringify({ ...base, ...whole })
    const variables = [...yaml.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'x'])
    t.strictSame(messagesOf(text, 'x', Object.fromEntries(variables)), [], yaml)
  }
  t.end()
})

t.test('every promise names a test that is there', (t) => {
  const promises = table(pageOfPromises, 'situation')
  t.ok(promises.length > 25)
  for (const [situation = '', promise = '', cell = ''] of promises) {
    t.not(promise, '', situation)
    const [, name = '', file = ''] =
      /^\[(.*)\]\(\.\.\/((?:test|gateway\/contracts)\/.*\.ts)\)$/.exec(cell) ?? []
    const names = [...textOf(file).matchAll(/\btest\(\s*(['"`])(.*?)\1,/g)].map(
      ([, , each]) => each,
    )
    // A name may begin with a store's, and end with a seed.
    const isThere = names.some((each) => each?.replace(/^\$\{\w+\}, |: \$\{\w+\}$/g, '') === name)
    t.ok(isThere, `${file}: ${name}`)
  }
  t.end()
})

t.test('no wish that Tollgate is said not to grant names a setting of its own', (t) => {
  const settings = new Set([...settingsOf(fileSchema).keys()].flatMap((place) => place.split('.')))
  const names = new Set([...settings].map((name) => name.replace('[]', '').toLowerCase()))
  const wishes = table('config/beside-others.md', 'wish')
  t.ok(wishes.length > 8)
  for (const [wish = ''] of wishes) {
    const words = wish.toLowerCase().match(/\w{3,}/g) ?? []
    t.strictSame(
      words.filter((word) => names.has(word)),
      [],
      wish,
    )
  }
  t.end()
})

t.test('every column of a comparison says as of when it is', (t) => {
  for (const head of textOf('config/beside-others.md').match(/^\| feature .*\n.*\n.*/gm) ?? []) {
    const [first = '', , asOf = ''] = head.split('\n')
    const dates = asOf.split('|').slice(3, -1)
    t.match(asOf, /^\| as of +\| – /)
    t.equal(dates.length, first.split('|').length - 4)
    t.ok(
      dates.every((date) => /^ 20\d\d-\d\d +$/.test(date)),
      asOf,
    )
  }
  t.end()
})

t.test('every default is told, and no other', (t) => {
  const told = settingsTold().flatMap(([place = '', , initial = '']) =>
    initial === '' ? [] : [[place, parse(initial)]],
  )
  t.strictSame(Object.fromEntries(told), Object.fromEntries(defaultsOf(fileSchema)))
  t.end()
})

t.test('what is told of settings that are left out is what they are', (t) => {
  const base = {
    plans: { free: { perMinute: 1, perDay: 1 } },
    upstreams: {
      NAME: {
        targets: [{ url: 'http://127.0.0.1:1' }],
        swap: { to: [{ url: 'http://127.0.0.1:2' }] },
      },
    },
    routes: [
      { path: '/x', upstream: 'NAME' },
      { path: '/y', upstream: 'NAME', cost: { estimate: 1, from: 'answer' } },
    ],
    deprecations: [
      {
        ...{ operation: 'GET /x', since: '2025-12-05', sunset: '2030-12-05' },
        extensions: [{ key: 'k', until: '2031-03-01' }],
      },
    ],
    decide: { port: 1, for: 'nginx' },
    portal: { openapi: 'config/openapi/animal-store.yaml' },
    jwt: [{ issuer: 'i', audience: 'a', keys: 'https://login.example/', plan: 'free' }],
    notices: [{ to: 'https://hooks.example', secret: 'sixteen characters' }],
  }
  const written = structuredClone(base) as Record<string, unknown>
  let count = 0
  for (const [place = '', , otherwise = ''] of settingsTold()) {
    if (otherwise === '') continue
    const one = place
      .replace('plans.NAME', 'plans.free')
      .replace('routes[].cost.', 'routes.1.cost.')
    const steps = one.replaceAll('[]', '.0').split('.')
    put(written, steps, parse(otherwise))
    count++
  }
  t.ok(count > 30, `${count} of them`)
  const configured = (file: unknown) => ({ ...configOf(file as ConfigFile), hash: '' })
  t.strictSame(configured(written), configured(base))
  t.end()
})

/** Sets a member of a member, and makes the sections on the way. */
function put(into: Record<string, unknown>, [first = '', ...rest]: string[], value: unknown): void {
  if (rest.length === 0) into[first] = value
  else put((into[first] ??= {}) as Record<string, unknown>, rest, value)
}

t.test('every code of a refusal is told with its status, and no other', (t) => {
  const told = table('gateway/README.md', 'status').flatMap(([statuses = '', codes = '']) =>
    codes.split(', ').map((code, i) => {
      const all = statuses.split(', ')
      return [code.replaceAll('`', ''), Number(all[i] ?? all[0])]
    }),
  )
  t.strictSame(Object.fromEntries(told), statusByCode)
  t.end()
})

t.test('every reason of a refusal is told, and no other', (t) => {
  const [, union = ''] =
    /^export type Reason =\n((?: {2}\|.*\n)*)/m.exec(textOf('shared/refusal.ts')) ?? []
  const named = [...union.matchAll(/'(\w+)'/g)].map(([, name]) => name)
  const all = [...named, ...windows.map(({ name }) => name), 'backend']
  const told = table('gateway/office/explain/README.md', 'code').map(([, reason]) => reason)
  t.strictSame(told.sort(), all.sort())
  t.end()
})

t.test('every command is told as its help tells it', async (t) => {
  const lines = (await helpOf(t, 'gateway/office/cli/main.ts')).split('\n')
  const commands = lines
    .filter((line) => /^ {2}\S/.test(line))
    .map((line) => (/^ {2}(.*?) {2,}(.*)$/.exec(line) ?? []).slice(1, 3))
  t.ok(commands.length > 15)
  t.strictSame(table('gateway/office/cli/README.md', 'command'), commands)
})

t.test('every variable of the environment is told, and no other', async (t) => {
  const helps = await Promise.all(
    ['gateway/main.ts', 'backend/main.ts'].map((file) => helpOf(t, file)),
  )
  t.match(helps[0], /^The gateway: /, 'no flag for V8 is unknown to this Node')
  const names = helps.flatMap((help) => help.match(/^ {2}[A-Z][A-Z_]+/gm) ?? [])
  const shipped = textOf('config/gateway.yaml')
  const substituted = [...shipped.matchAll(/\$\{([A-Z_]+)(?::-|\})/g)].map(([, name = '']) => name)
  const known = new Set(
    [...names.map((name) => name.trim()), ...substituted].filter((name) => name !== 'NAME'),
  )
  const told = table('config/README.md', 'variable').flatMap(([name = '']) =>
    name.replaceAll('`', '').split(', '),
  )
  t.strictSame(told.sort(), [...known].sort())
})

t.test('every dependency has a line that says what it does, and nothing else has', (t) => {
  const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
    textOf('package.json'),
  ) as Record<'dependencies' | 'optionalDependencies' | 'peerDependencies', Record<string, string>>
  const told = table('gateway/README.md', 'package').map(
    ([name = '']) => /[^` ]+/.exec(name)?.[0] ?? '',
  )
  t.strictSame(
    told.sort(),
    Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }).sort(),
  )
  t.end()
})

t.test('every place that a link of a README leads to is there', (t) => {
  let links = 0
  for (const readme of [...readmes, ...pages]) {
    for (const [, link = ''] of textOf(readme).matchAll(/\]\(((?!https?:)[^)]*)\)/g)) {
      links++
      const [path = '', place] = link.split('#')
      const file = path === '' ? readme : join(dirname(readme), path)
      if (!existsSync(join(root, file))) t.fail(`${readme}: ${link}`)
      else if (place !== undefined) t.ok(placesIn(file).has(place), `${readme}: ${link}`)
    }
  }
  t.ok(links > 80, `${links} of them`)
  t.end()
})

/** The names of headings of a page in links. */
function placesIn(file: string): ReadonlySet<string> {
  const headings = [...textOf(file).matchAll(/^#+ (.*)$/gm)]
  return new Set(
    headings.map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}

t.test(
  'README is short, leads to every other by one link, and each begins with its purpose',
  (t) => {
    const first = textOf('README.md')
    t.ok(first.split('\n').length <= 201, 'it has 200 lines')
    const linked = [...first.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, file]) => file)
    t.ok(readmes.length > 10)
    for (const readme of readmes.slice(1)) {
      const file = relative('.', readme).replaceAll('\\', '/')
      t.ok(linked.includes(file), file)
    }
    for (const readme of readmes) t.match(textOf(readme), /^# \S.*\n\n\w.*[^:]\n/, readme)
    t.end()
  },
)

t.test('every interface of a store is told, with the file that it is in', (t) => {
  const file = 'gateway/front/stores/stores.ts'
  const imports = textOf(file).matchAll(
    /import type \{ (\w+) \} from '(\.\.\/(?!config)[a-z][^']+)'/g,
  )
  const told = table('gateway/front/stores/README.md', 'interface').map(([name, place]) => [
    name,
    /^\[`(.*)`\]\(\.\.\/\1\)$/.exec(place ?? '')?.[1],
  ])
  const declared = [...imports].map(([, name, path = '']) => [name, path.replace('../', '')])
  t.strictSame(told.sort(), declared.sort())
  t.end()
})

t.test('every room of the two wings is told', (t) => {
  for (const wing of ['front', 'office']) {
    const told = table('gateway/README.md', `room of the ${wing}`)
      .flatMap(([rooms = '']) => [...rooms.matchAll(/(\w+)\/(?=`|$)/g)].map(([, room]) => room))
      .sort()
    const rooms = readdirSync(join(root, 'gateway', wing), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
    t.strictSame(told, rooms.sort(), wing)
  }
  t.end()
})
