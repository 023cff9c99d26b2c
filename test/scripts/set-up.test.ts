import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { checkout, fakeNpm, runNode } from '../support/checkout.ts'
import { root } from '../support/process.ts'

const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))

t.test('a registry that is out of reach: the packages stay as they were', (t) => {
  const folder = checkout(t)
  const packages = join(folder, 'checkout/node_modules')
  mkdirSync(join(packages, 'some/thing'), { recursive: true })
  writeFileSync(join(folder, 'checkout/test/some.test.ts'), '')
  for (const script of ['test', 'package']) {
    const { status, output } = runNode([join(folder, `checkout/config/scripts/${script}.mjs`)], {
      HOME: join(folder, 'home'),
      npm_config_cache: join(folder, 'home/cache'),
      npm_config_registry: 'http://127.0.0.1:9/',
      npm_config_fetch_retries: '0',
    })
    t.equal(status, 1, script)
    t.match(output, /^Installing packages /)
    t.match(output, /npm can't reach its registry \(ECONNREFUSED\)\. Check the network/)
    t.strictSame(readdirSync(packages), ['some'])
    t.ok(existsSync(join(packages, 'some/thing')))
  }
  t.end()
})

t.test(
  'a Chromium: a headless shell, else another, else only the tests of pages go without',
  (t) => {
    const folder = checkout(t)
    const script = join(folder, 'checkout/config/scripts/chromium.mjs')
    const code = `import(${JSON.stringify(script)}).then(async (it) => console.log('found: ' + await it.findChromium()))`
    const find = (env: Record<string, string>) => runNode(['-e', code], env).output
    const PATH = join(folder, 'empty')
    const refusal = "Chromium's headless shell can't be fetched here (id: spawn id ENOENT): "
    const output = find({ PATH })
    t.match(output, /^found: $/m)
    t.match(output, `${refusal}tests of pages will fail.\n`)
    t.equal(find({ PATH, CHROMIUM_BIN: '/of/mine' }), 'found: /of/mine\n')
    const other = join(PATH, 'google-chrome')
    writeFileSync(other, '')
    const instead = find({ PATH })
    t.match(instead, `found: ${other}\n`)
    t.match(instead, `${refusal}${other} takes its place.\n`)
    const shell = join(PATH, 'chromium-headless-shell')
    writeFileSync(shell, '')
    t.equal(find({ PATH }), `found: ${shell}\n`)
    t.end()
  },
)

t.test('a fetch that was interrupted: the next one clears up, and leaves one that runs', (t) => {
  const folder = checkout(t)
  const ended = spawnSync(process.execPath, ['-e', '']).pid
  const cache = join(folder, 'checkout/.cache')
  const running = `apt-${process.pid}-b`
  for (const name of [`apt-${ended}-a`, running, 'apt-old', 'redis']) {
    mkdirSync(join(cache, name, 'state'), { recursive: true })
  }
  const script = join(folder, 'checkout/config/scripts/chromium.mjs')
  const { output } = runNode(
    ['-e', `import(${JSON.stringify(script)}).then((it) => it.findChromium())`],
    {
      PATH: join(folder, 'empty'),
    },
  )
  t.match(output, /can't be fetched here/)
  t.strictSame(readdirSync(cache).sort(), [running, 'redis'])
  t.end()
})

t.test('an SQLite that does not work: what worked before comes back', (t) => {
  const folder = checkout(t)
  const packages = join(folder, 'checkout/node_modules')
  mkdirSync(join(packages, 'some'), { recursive: true })
  const npm_execpath = fakeNpm(
    folder,
    `fs.mkdirSync('node_modules/better-sqlite3', { recursive: true })
fs.writeFileSync('node_modules/better-sqlite3/index.js', 'throw new Error("of another processor")')`,
  )
  const script = join(folder, 'checkout/config/scripts/start.mjs')
  const { status, output } = runNode([script], { npm_execpath })
  t.equal(status, 1)
  t.match(output, /better-sqlite3 was installed but does not work here: of another processor\.\n$/)
  t.strictSame(readdirSync(packages), ['some'])
  t.end()
})

t.test('npm run setup refuses words before it does anything', (t) => {
  const folder = checkout(t)
  const script = join(folder, 'checkout/config/scripts/setup.mjs')
  t.match(runNode([script, '--prod'], {}), {
    ...{ status: 2, output: 'npm run setup takes nothing, got "--prod".\n' },
  })
  t.notOk(existsSync(join(folder, 'checkout/node_modules')))
  t.end()
})

t.test('a checkout that was copied or moved is still set up', async (t) => {
  const here = join(root, 'config/scripts/shared.mjs')
  const there = join(checkout(t), 'checkout/config/scripts/shared.mjs')
  const digests = await Promise.all(
    [here, there].map(async (file) => {
      const { digestOf, root } = await import(pathToFileURL(file).href)
      return digestOf([join(root, 'package-lock.json'), join(root, 'config/gateway.yaml')])
    }),
  )
  t.equal(digests[0], digests[1])
  t.not(digests[0], '')
})

t.test('package.json and the lock file hold what they promise', (t) => {
  const { dependencies, devDependencies, optionalDependencies, engines, scripts } =
    read('package.json')
  const all = { ...dependencies, ...devDependencies, ...optionalDependencies }
  for (const [name, version] of Object.entries<string>(all)) {
    t.match(version, /^\d+\.\d+\.\d+$/, `${name} has an exact version`)
  }
  t.equal(engines.node, '>=22.18 <23 || >=24 <25 || >=26 <27')
  for (const [name, script] of Object.entries<string>(scripts)) {
    t.match(script, /^node config\/scripts\/with-node\.mjs \S+/, `${name} takes any Node`)
  }
  t.equal(
    read('package-lock.json').packages['node_modules/better-sqlite3'].gypfile,
    false,
    'npm forgets this line whenever it writes the lock file, and would then compile: put it back',
  )
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  t.notMatch(lock, /"resolved": "http/, 'no download address')
  const known = 'config backend gateway shared test build data node_modules'.split(' ')
  const found = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => name)
  t.strictSame(
    found.filter((name) => !known.includes(name)),
    [],
    'no further folder',
  )
  t.match(readFileSync(join(root, '.ci/run'), 'utf8'), /^npm test\nnpm run test:all -- beside\n$/m)
  t.end()
})
