import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { configFor } from './support/gateway.ts'
import { caller } from './support/http.ts'
import { root } from './support/process.ts'
import { freePort, until } from './support/redis.ts'

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

function run(args: string[], env: Record<string, string>) {
  const { status, stderr, stdout } = spawnSync(process.execPath, args, {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    encoding: 'utf8',
  })
  return { status, output: stdout + stderr }
}

t.test('set-up says what is missing, in one sentence, with an exit code', (t) => {
  t.test('a Node that is too old', (t) => {
    const pretend = (version: string) =>
      run(
        [
          '--import',
          `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`,
          join(root, 'config/scripts/check-node.mjs'),
        ],
        {},
      )
    for (const version of ['18.20.4', '20.18.3', '21.7.0', '22.13.1']) {
      const { status, output } = pretend(version)
      t.equal(status, 1, version)
      t.match(output, `this is ${version}. Install a newer one`)
    }
    for (const version of ['20.19.0', '20.20.2', '22.14.0', '24.0.0']) {
      t.strictSame(pretend(version), { status: 0, output: '' }, version)
    }
    t.end()
  })

  t.test('a compiler that is missing', (t) => {
    const skip = !process.versions.node.startsWith('20.') && 'only Node 20 has to compile SQLite'
    t.test('is named', { skip }, (t) => {
      const folder = checkout(t)
      const script = join(folder, 'checkout/config/scripts/start.mjs')
      const { status, output } = run([script], { PATH: join(folder, 'empty') })
      t.equal(status, 1)
      t.equal(output.split('\n').length, 2, 'one line')
      t.match(
        output,
        /^SQLite has to be compiled, and g\+\+, make, python3 can't be found\. Install/,
      )
      t.end()
    })
    t.end()
  })

  t.test('a registry that is out of reach', (t) => {
    const folder = checkout(t)
    const { status, output } = run([join(folder, 'checkout/config/scripts/test.mjs')], {
      HOME: join(folder, 'home'),
      npm_config_cache: join(folder, 'home/cache'),
      npm_config_registry: 'http://127.0.0.1:9/',
      npm_config_fetch_retries: '0',
    })
    t.equal(status, 1)
    t.match(output, /^Installing packages \(about a minute the first time\)/)
    t.match(output, /npm can't reach its registry \(ECONNREFUSED\)\. Check the network/)
    t.end()
  })
  t.end()
})

t.test('npm start has the animals changed through the gateway alone', async (t) => {
  const dir = t.testdir()
  const [port, file] = [await freePort(), join(dir, 'gateway.yaml')]
  writeFileSync(file, configFor(`http://127.0.0.1:${port}`, `file: "${join(dir, 'gateway.db')}"`))
  const services = join(root, 'config/scripts/services.mjs')
  const child = spawn(
    process.execPath,
    ['-e', `import('${services}').then((m) => m.runServices())`],
    {
      env: {
        PATH: process.env['PATH'] ?? '',
        ...{ PORT: String(port), DATABASE: join(dir, 'animals.db'), TOLLGATE_CONFIG: file },
      },
    },
  )
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  let output = ''
  child.stdout.on('data', (text: Buffer) => (output += text.toString()))
  await until(() => /free +curl \S+ .*"$/m.test(output), 30_000)
  const [, url = '', key = ''] =
    /free +curl (http:\S+?)\/v1\/pets -H "Authorization: (.*)"$/m.exec(output) ?? []
  const rex = { name: 'Rex', categoryId: 3 }
  const direct = caller(`http://127.0.0.1:${port}`)
  t.equal((await direct('GET', '/healthz')).status, 200)
  t.equal((await direct('POST', '/v1/pets', rex)).status, 403)
  t.equal((await direct('GET', '/v1/pets')).status, 403)
  const through = caller(url)
  t.equal((await through('POST', '/v1/pets', rex, { authorization: key })).status, 201)
  t.equal((await through('GET', '/v1/pets/1', undefined, { authorization: key })).status, 200)
})

t.test('package.json and the lock file hold what they promise', (t) => {
  const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))
  const { dependencies, devDependencies, engines, scripts } = read('package.json')
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    t.match(version, /^\d+\.\d+\.\d+$/, `${name} has an exact version`)
  }
  t.equal(engines.node, '>=20.19 <21 || >=22.14')
  for (const name of ['gateway', 'backend'])
    t.match(scripts[name], /^node \S+\.js$/, 'no build step')
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
  t.match(readFileSync(join(root, '.ci/run'), 'utf8'), /^npm test$/m)
  t.end()
})
