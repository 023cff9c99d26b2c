import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { faultOf } from '../shared/sqlite-pair.ts'
import { configFor } from './support/gateway.ts'
import { caller } from './support/http.ts'
import { root } from './support/process.ts'
import { freePort, until } from './support/redis.ts'

const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))
const [major = 0] = process.versions.node.split('.').map(Number)

/** A checkout in which nothing is set up yet. */
function checkout(t: Test): string {
  const folder = t.testdir({ home: {}, empty: {}, checkout: {} })
  const target = join(folder, 'checkout')
  for (const name of ['config', 'package.json', 'package-lock.json', 'tsconfig.json']) {
    cpSync(join(root, name), join(target, name), { recursive: true })
  }
  for (const name of ['gateway', 'backend', 'shared', 'test']) mkdirSync(join(target, name))
  return folder
}

function run(args: string[], env: Record<string, string>, cwd?: string) {
  const { status, stderr, stdout } = spawnSync(process.execPath, args, {
    ...{ env: { PATH: process.env['PATH'] ?? '', ...env }, encoding: 'utf8' },
    // A service that should have refused to start would run for ever.
    timeout: 120_000,
    ...(cwd === undefined ? {} : { cwd }),
  })
  return { status, output: stdout + stderr }
}

/** Code that makes Node report other versions of itself and its parts. */
function pretending(versions: Record<string, string>): string[] {
  const code = `const versions={...process.versions,...${JSON.stringify(versions)}}
Object.defineProperty(process,'versions',{value:versions})`
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
}

/** An npm that answers a question for a setting with NODEDIR, and anything else with some code. */
function fakeNpm(folder: string, code: string): string {
  const file = join(folder, 'npm.js')
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
  const questions = `if (process.argv[3] === 'list') {
  process.exit(console.log('; "user" config from /home/me/.npmrc\\n\\nnodedir = "x"'))
}
if (process.argv[2] === 'config') process.exit(console.log(process.env.NODEDIR))`
  writeFileSync(file, `const fs = require('node:fs')\n${questions}\n${code}`)
  return file
}

t.test('set-up says what is missing, in one sentence, with an exit code', (t) => {
  t.test('a Node that nobody has tried', (t) => {
    const script = join(root, 'config/scripts/check-node.mjs')
    const pretend = (node: string) => run([...pretending({ node }), script], {})
    const others = ['18.20.4', '20.18.3', '21.7.0', '22.13.1', '23.11.0', '25.1.0', '27.0.0']
    for (const version of others) {
      const { status, output } = pretend(version)
      t.equal(status, 1, version)
      t.match(output, `this is ${version}. Install one of them`)
    }
    for (const version of ['20.19.0', '20.20.2', '22.14.0', '24.0.0', '26.10.0']) {
      t.strictSame(pretend(version), { status: 0, output: '' }, version)
    }
    t.end()
  })

  t.test('a compiler for Node 20', (t) => {
    const folder = checkout(t)
    const script = join(folder, 'checkout/config/scripts/start.mjs')
    const args = [...pretending({ node: '20.20.2' }), script]
    const { status, output } = run(args, { PATH: join(folder, 'empty') })
    t.equal(status, 1)
    t.equal(output.split('\n').length, 2, 'one line')
    t.match(
      output,
      /^SQLite has to be compiled on Node 20, and g\+\+, make, python3 can't be found\. Install/,
    )
    t.end()
  })

  t.test('headers for Node 20, where npm knows those of another Node alone', (t) => {
    const folder = checkout(t)
    const script = join(folder, 'checkout/config/scripts/start.mjs')
    const nodedir = join(folder, 'home')
    mkdirSync(join(nodedir, 'include/node'), { recursive: true })
    writeFileSync(join(nodedir, 'include/node/node_version.h'), '#define NODE_MODULE_VERSION 127\n')
    for (const tool of ['g++', 'make', 'python3']) writeFileSync(join(folder, 'empty', tool), '')
    const args = [...pretending({ node: '20.20.2', modules: '999' }), script]
    const npm_execpath = fakeNpm(folder, '')
    const { status, output } = run(args, {
      ...{ npm_execpath, NODEDIR: nodedir, PATH: join(folder, 'empty') },
    })
    t.equal(status, 1)
    t.equal(output.split('\n').length, 2, 'one line')
    const where = `nodedir (from /home/me/.npmrc) names ${nodedir}, which has the headers of another`
    t.match(output, where)
    t.match(output, /\(module version 127\), and Node 20\.20\.2 needs version 999/)
    t.end()
  })

  t.test('a registry that is out of reach: the packages stay as they were', (t) => {
    const folder = checkout(t)
    const packages = join(folder, 'checkout/node_modules')
    mkdirSync(join(packages, 'some/thing'), { recursive: true })
    const { status, output } = run([join(folder, 'checkout/config/scripts/test.mjs')], {
      HOME: join(folder, 'home'),
      npm_config_cache: join(folder, 'home/cache'),
      npm_config_registry: 'http://127.0.0.1:9/',
      npm_config_fetch_retries: '0',
    })
    t.equal(status, 1)
    t.match(output, /^Installing packages /)
    t.match(output, /npm can't reach its registry \(ECONNREFUSED\)\. Check the network/)
    t.strictSame(readdirSync(packages), ['some'])
    t.ok(existsSync(join(packages, 'some/thing')))
    t.end()
  })

  t.test('headers that are out of reach, which is no fault of the registry', (t) => {
    const folder = checkout(t)
    const lines = [
      'npm error prebuild-install warn install getaddrinfo ENOTFOUND binaries.example',
      'npm error gyp http fetch GET https://headers.example/v20.tar.gz attempt 1 failed with ENOTFOUND',
    ]
    const start = (lines: string[]) => {
      const code = `console.log(${JSON.stringify(lines.join('\n'))}); process.exitCode = 1`
      const script = join(folder, 'checkout/config/scripts/start.mjs')
      return run([script], { npm_execpath: fakeNpm(folder, code) })
    }
    const { status, output } = start(lines)
    t.equal(status, 1)
    t.match(output, /Node's headers can't be fetched \(ENOTFOUND\); npm's registry did answer/)
    t.match(output, /All of npm's output is in \.cache\/(?:setup|sqlite)\.log\.\n$/)
    const both = start([
      ...lines,
      'npm error network request to https://a.example failed ETIMEDOUT',
    ])
    t.match(both.output, /npm can't reach its registry \(ETIMEDOUT\)/)
    t.end()
  })

  t.test('a Chromium: only the tests that need it go without', (t) => {
    const folder = checkout(t)
    const script = join(folder, 'checkout/config/scripts/chromium.mjs')
    const code = `import(${JSON.stringify(script)}).then(async (it) => console.log('found: ' + await it.findChromium()))`
    const find = (env: Record<string, string>) => run(['-e', code], env).output
    const PATH = join(folder, 'empty')
    const output = find({ PATH })
    t.match(output, /^found: $/m)
    t.match(output, /^Chromium can't be fetched here \(id: spawn id ENOENT\)\.$/m)
    t.equal(find({ PATH, CHROMIUM_BIN: '/of/mine' }), 'found: /of/mine\n')
    writeFileSync(join(PATH, 'google-chrome'), '')
    t.equal(find({ PATH }), `found: ${join(PATH, 'google-chrome')}\n`)
    t.end()
  })

  t.test('a fetch that was interrupted: the next one clears up, and leaves one that runs', (t) => {
    const folder = checkout(t)
    const ended = spawnSync(process.execPath, ['-e', '']).pid
    const cache = join(folder, 'checkout/.cache')
    const running = `apt-${process.pid}-b`
    for (const name of [`apt-${ended}-a`, running, 'apt-old', 'redis']) {
      mkdirSync(join(cache, name, 'state'), { recursive: true })
    }
    const script = join(folder, 'checkout/config/scripts/chromium.mjs')
    const { output } = run(
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
      `const { packages } = JSON.parse(fs.readFileSync('package-lock.json', 'utf8'))
const { version } = packages['node_modules/better-sqlite3']
for (const [file, text] of Object.entries({
  'better-sqlite3/package.json': JSON.stringify({ version, main: 'lib/index.js' }),
  'better-sqlite3/lib/index.js': 'throw new Error("of another processor")',
  'better-sqlite3/build/Release/better_sqlite3.node': '',
  'better-sqlite3/LICENSE': '',
  'bindings/package.json': '{}',
  'file-uri-to-path/package.json': '{}',
})) {
  const path = require('node:path').join('node_modules', file)
  fs.mkdirSync(require('node:path').dirname(path), { recursive: true })
  fs.writeFileSync(path, text)
}`,
    )
    const script = join(folder, 'checkout/config/scripts/start.mjs')
    const { status, output } = run([script], { npm_execpath })
    t.equal(status, 1)
    t.match(
      output,
      /better-sqlite3 1[23]\.\d+\.\d+ was installed but does not work with Node [\d.]+: of another processor\. Remove/,
    )
    const foreign =
      'The module was compiled against a different Node.js version using NODE_MODULE_VERSION 115. ' +
      'This version of Node.js requires NODE_MODULE_VERSION 127.'
    writeFileSync(
      npm_execpath,
      readFileSync(npm_execpath, 'utf8').replace('of another processor', foreign),
    )
    rmSync(join(folder, 'checkout/.cache'), { recursive: true })
    t.match(
      run([script], { npm_execpath }).output,
      /: its binary is for module version 115, and this Node wants 127\. Remove/,
    )
    t.strictSame(readdirSync(packages), ['some'])
    t.end()
  })
  t.end()
})

/** The last step of `npm start`, with a configuration in the test's own folder. */
function startServices(t: Test, env: Record<string, string>) {
  const services = join(root, 'config/scripts/services.mjs')
  const child = spawn(
    process.execPath,
    ['-e', `import('${services}').then((m) => m.runServices())`],
    { env: { PATH: process.env['PATH'] ?? '', ...env } },
  )
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => (output += text.toString()))
  }
  return { ended, output: () => output, stop: () => child.kill('SIGTERM') }
}

t.test(
  'npm start has the animals changed through the gateway alone, wherever they are',
  async (t) => {
    const dir = t.testdir()
    const [port, file] = [await freePort(), join(dir, 'gateway.yaml')]
    const shipped = readFileSync(join(root, 'config/gateway.yaml'), 'utf8')
    // The backend is that of the shipped file; ports and store are replaced.
    const config = shipped
      .replace(/^listen: .*$/m, 'listen: { host: 127.0.0.1, port: 0 }')
      .replace(/^admin: .*$/m, `admin: { host: 127.0.0.1, port: ${await freePort()} }`)
      .replace('data/gateway.db', join(dir, 'gateway.db'))
    writeFileSync(file, config)
    const { output } = startServices(t, {
      ...{ PORT: String(port), DATABASE: join(dir, 'animals.db'), TOLLGATE_CONFIG: file },
    })
    await until(() => /enterprise +curl \S+ .*"$/m.test(output()), 30_000)
    const said = output()
    t.notMatch(said, 'keys.create', 'what it makes itself is no news')
    t.match(said, /free +curl .*\n.*\n.*\n +enterprise +curl [^\n]+\n$/, 'the welcome comes last')
    t.match(
      said,
      `in a second terminal, before commands,\n    export ANIMALS_URL=http://127.0.0.1:${port}\n`,
    )
    const [, url = '', key = ''] =
      /free +curl (http:\S+?)\/v1\/pets -H "Authorization: (.*)"$/m.exec(said) ?? []
    const rex = { name: 'Rex', categoryId: 3 }
    const kept = join(dir, 'admin-token')
    const token = readFileSync(kept, 'utf8').trim()
    t.match(said, `shown this once: ${token}\n  It is kept in ${kept},`)
    t.equal(statSync(kept).mode & 0o777, 0o600)
    const [, admin = ''] = /console {2}(http:\S+)\/console\/ {2}/.exec(said) ?? []
    const [, pages = ''] = /pages {4}http:\S+(\/\S+) {2}/.exec(said) ?? []
    t.match((await caller(url)('GET', pages)).text, '<!doctype html>', 'the pages for callers')
    const bearer = { authorization: `Bearer ${token}` }
    t.equal((await caller(admin)('GET', '/admin/keys', undefined, bearer)).status, 200)
    const direct = caller(`http://127.0.0.1:${port}`)
    t.equal((await direct('GET', '/healthz')).status, 200)
    t.equal((await direct('POST', '/v1/pets', rex)).status, 403)
    t.equal((await direct('GET', '/v1/pets')).status, 403)
    const through = caller(url)
    t.equal((await through('POST', '/v1/pets', rex, { authorization: key })).status, 201)
    t.equal((await through('GET', '/v1/pets/1', undefined, { authorization: key })).status, 200)
  },
)

t.test('npm start names no variable where commands need none', async (t) => {
  const dir = t.testdir()
  const [port, file] = [await freePort(), join(dir, 'gateway.yaml')]
  const backend = `http://127.0.0.1:${port}`
  for (const [target, env] of [
    [`\${ANIMALS_URL:-${backend}}`, {}],
    ['${ANIMALS_URL}', { ANIMALS_URL: backend }],
  ] as const) {
    writeFileSync(file, configFor(target, `file: "${join(dir, 'gateway.db')}"`))
    const { ended, output, stop } = startServices(t, {
      ...{ PORT: String(port), DATABASE: join(dir, 'animals.db'), TOLLGATE_CONFIG: file, ...env },
    })
    await until(() => output().includes('the animal store behind it'), 30_000)
    stop()
    await ended
    t.notMatch(output(), 'export ANIMALS_URL')
    t.equal(/Sign in with the token in .*admin-token/.test(output()), 'ANIMALS_URL' in env)
  }
})

t.test(
  'npm start refuses a token that others can read, and leaves ADMIN_TOKEN as it is',
  async (t) => {
    const dir = t.testdir()
    const [file, kept] = [join(dir, 'gateway.yaml'), join(dir, 'admin-token')]
    writeFileSync(file, configFor('http://127.0.0.1:1', `file: "${join(dir, 'gateway.db')}"`))
    const env = { PORT: '0', DATABASE: join(dir, 'animals.db'), TOLLGATE_CONFIG: file }
    const refusals = [
      ['a-token-of-operators', 0o644, 'others can read it. Delete it'],
      ['', 0o600, 'holds no token. Delete it'],
    ] as const
    for (const [text, mode, sentence] of refusals) {
      writeFileSync(kept, text)
      chmodSync(kept, mode)
      const { ended, output } = startServices(t, env)
      t.strictSame(await ended, [1, null])
      t.match(output(), sentence)
      t.equal(readFileSync(kept, 'utf8'), text)
    }
    rmSync(kept)
    const { ended, output, stop } = startServices(t, {
      ...env,
      ADMIN_TOKEN: 'one-of-my-own-tokens',
    })
    await until(() => output().includes('the animal store behind it'), 30_000)
    stop()
    await ended
    t.notMatch(output(), /Sign in/)
    t.notOk(existsSync(kept), 'nothing is made')
  },
)

t.test('npm start shows the first keys even where the gateway can’t begin', async (t) => {
  const dir = t.testdir()
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const file = join(dir, 'gateway.yaml')
  const config = configFor('http://127.0.0.1:1', `file: "${join(dir, 'gateway.db')}"`)
  writeFileSync(file, config.replace(/listen: .*/, `listen: { host: 127.0.0.1, port: ${port} }`))
  const { ended, output } = startServices(t, {
    ...{ PORT: '0', DATABASE: join(dir, 'animals.db'), TOLLGATE_CONFIG: file },
  })
  t.strictSame(await ended, [1, null])
  t.match(output(), /set another port with listen\.port/)
  t.match(output(), /One key for each plan was made\. .*\n +free +curl \S+ -H "Auth.* tg_/)
})

t.test('npm run setup takes one word, and refuses others before it does anything', (t) => {
  const folder = checkout(t)
  const script = join(folder, 'checkout/config/scripts/setup.mjs')
  t.match(run([script, '--prod'], {}), {
    ...{ status: 2, output: 'npm run setup takes nothing but --production, got "--prod".\n' },
  })
  t.notOk(existsSync(join(folder, 'checkout/node_modules')))
  t.end()
})

t.test('npm start -- --help tells, and starts nothing', (t) => {
  const script = join(root, 'config/scripts/start.mjs')
  const { status, output } = run([script, '--help'], {})
  t.equal(status, 0)
  t.match(output, /^Sets up what is missing, .*\n\n {2}npm start /)
  t.match(run([script, '--port', '9'], {}), {
    ...{
      status: 2,
      output: 'npm start takes nothing but --help, got "--port 9". Nothing was started',
    },
  })
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

t.test('a Node and an SQLite that do not go together end what needs them, at once', (t) => {
  const folder = t.testdir({ data: {}, node_modules: {} })
  for (const name of ['gateway', 'backend', 'shared']) {
    cpSync(join(root, 'build', name), join(folder, 'build', name), { recursive: true })
  }
  for (const name of ['package.json', 'config/gateway.yaml', 'config/openapi/animal-store.yaml']) {
    cpSync(join(root, name), join(folder, name))
  }
  for (const name of readdirSync(join(root, 'node_modules'))) {
    const from = join(root, 'node_modules', name)
    const to = join(folder, 'node_modules', name)
    if (name === 'better-sqlite3') cpSync(from, to, { recursive: true, dereference: true })
    else if (!name.startsWith('.')) symlinkSync(from, to)
  }
  const sqlite = join(folder, 'node_modules/better-sqlite3')
  const about = read('node_modules/better-sqlite3/package.json') as { version: string }
  const programs = [
    ['build/gateway/main.js'],
    ['build/backend/main.js'],
    ['build/gateway/cli/main.js', 'keys', 'list'],
  ]
  const refused = (t: Test, sentence: RegExp) => {
    for (const program of programs) {
      const { status, output } = run(program, {}, folder)
      t.equal(status, 2, program.join(' '))
      t.match(output, sentence)
      t.equal(output.split('\n').length, 2, 'one line')
    }
  }

  t.test('those that do go together run, and no flag for V8 is unknown', (t) => {
    t.match(run(['build/gateway/cli/main.js', 'keys', 'list'], {}, folder), { status: 0 })
    const { status, output } = run(['build/gateway/main.js', '--help'], {}, folder)
    t.equal(status, 0)
    t.match(output, /^The gateway: /)
    t.end()
  })

  t.test('a version that would crash this Node, or that nothing is known against', (t) => {
    const [version, sentence] =
      major < 22
        ? ['13.2.0', /: better-sqlite3 13\.2\.0 crashes Node [\d.]+: install .+@12\.11\.1\n/]
        : ['12.11.1', /: better-sqlite3 12\.11\.1 makes Node [\d.]+ abort at random: .+@13\.2\.0\n/]
    writeFileSync(join(sqlite, 'package.json'), JSON.stringify({ ...about, version }))
    if (major === 22) t.match(run(programs[2] ?? [], {}, folder), { status: 0 })
    else refused(t, sentence)
    writeFileSync(join(sqlite, 'package.json'), JSON.stringify(about))
    t.end()
  })

  t.test('a binary that this Node cannot load', (t) => {
    mkdirSync(join(sqlite, 'build/Release'), { recursive: true })
    writeFileSync(join(sqlite, 'build/Release/better_sqlite3.node'), 'no binary')
    refused(t, /: better-sqlite3 [\d.]+ can't be loaded by Node [\d.]+ \(.+\): install the version/)
    t.end()
  })

  const at = (node: string, napi: string) =>
    ['12.11.1', '13.2.0'].filter((sqlite) => !faultOf({ sqlite, node, napi }))
  t.strictSame(at('20.20.2', '9'), ['12.11.1'])
  t.strictSame(at('22.13.1', '9'), ['12.11.1'])
  t.strictSame(at('22.14.0', '10'), ['12.11.1', '13.2.0'])
  t.strictSame(at('24.21.0', '10'), ['13.2.0'])
  t.strictSame(at('26.10.0', '10'), ['13.2.0'])
  t.end()
})

t.test('package.json and the lock files hold what they promise', (t) => {
  const { dependencies, devDependencies, optionalDependencies, engines, scripts } =
    read('package.json')
  const { 'better-sqlite3': sqlite, ...others } = dependencies
  for (const [name, version] of Object.entries({
    ...others,
    ...devDependencies,
    ...optionalDependencies,
  })) {
    t.match(version, /^\d+\.\d+\.\d+$/, `${name} has an exact version`)
  }
  t.equal(engines.node, '>=20.19 <21 || >=22.14 <23 || >=24 <25 || >=26 <27')
  // npm takes the newest one whose own engines admit the Node that it runs on.
  const locked = read('package-lock.json').packages['node_modules/better-sqlite3']
  const onNode20 = read('config/node-20/package-lock.json').packages['node_modules/better-sqlite3']
  t.equal(sqlite, `${onNode20.version} || ${locked.version}`)
  t.equal(onNode20.version, read('config/node-20/package.json').dependencies['better-sqlite3'])
  t.equal(
    locked.gypfile,
    false,
    'npm forgets this line whenever it writes the lock file, and would then compile: put it back',
  )
  for (const name of ['gateway', 'backend'])
    t.match(scripts[name], /^node \S+\.js$/, 'no build step')
  for (const name of ['package-lock.json', 'config/node-20/package-lock.json']) {
    t.notMatch(readFileSync(join(root, name), 'utf8'), /"resolved": "http/, 'no download address')
  }
  const known = 'config backend gateway shared test build data node_modules'.split(' ')
  const found = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => name)
  t.strictSame(
    found.filter((name) => !known.includes(name)),
    [],
    'no further folder',
  )
  t.match(readFileSync(join(root, '.ci/run'), 'utf8'), /^npm test$/m)
  t.end()
})
