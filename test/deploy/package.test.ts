import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { PageFolder } from '../../gateway/front/http/page-files.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { root } from '../support/process.ts'
import { shownFiles } from '../support/readme.ts'
import { atSomePort } from '../support/redis.ts'
import { until } from '../support/until.ts'

const readme = readFileSync(join(root, 'README.md'), 'utf8')
const tsc = join(root, 'node_modules/typescript/bin/tsc')

/** The content of a code block in the section of a heading. */
function example(heading: string): string {
  const section = readme.slice(readme.indexOf(`\n## ${heading}\n`))
  const [, code] = /```ts\n([^]*?)```/.exec(section) ?? []
  if (code === undefined) throw new Error(`README has no example under ${heading}`)
  return code
}

/** The files of a folder that browsers get, as they are called in the package. */
function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:html|css|ts|svg)$/.test(name))
    .map((name) => `${folder}/${name.replace(/ts$/, 'js')}`)
}

/** Mistakes in a route's configuration that an editor underlines; a line that it lets pass is an error. */
const typos = `
import Fastify from 'fastify'
import 'tollgate'
const app = Fastify()
app.get('/a', { config: { tollgate: 'quota' } }, ({ tollgate }) => tollgate?.caller?.id)
// @ts-expect-error a value that there isn't
app.get('/b', { config: { tollgate: 'qouta' } }, () => '')
// @ts-expect-error a number as a text
app.get('/c', { config: { tollgate: true, cost: '5' } }, () => '')
// @ts-expect-error a part of the record that is Tollgate's own
app.get('/d', { config: { tollgate: true } }, ({ tollgate }) => tollgate?.trace)
`

/** An app in CommonJS, which uses all kinds of what the package exports: a function, a class and types. */
const inCommonJs = `
import Fastify = require('fastify')
import tollgate, { ConfigError, configOf, type NewKey, type TollgateOptions } from 'tollgate'
const app = Fastify()
const config = { plans: { free: { perMinute: 60, perDay: 1000 } }, routes: [], store: { file: ':memory:' } }
const options: TollgateOptions = { config }
const settings: NewKey = { name: 'Me', plan: 'free' }
app.register(tollgate, options).after(() => {
  app.get('/mine', { config: { tollgate: true } }, (request) => ({ you: request.tollgate?.caller?.name }))
})
app.ready().then(async () => {
  const { key } = await app.tollgate.keys.create(settings)
  const { body } = await app.inject({ url: '/mine', headers: { authorization: 'Bearer ' + key } })
  try {
    configOf({ plans: {}, routes: [] })
  } catch (error) {
    if (error instanceof ConfigError) console.log(body, error.mistakes.length)
  }
  await app.close()
}, console.error)
`

/** The compiler's options for each way in which it finds packages. */
const ways = {
  node16: { module: 'node16' },
  node20: { module: 'node20' },
  nodenext: { module: 'nodenext' },
  bundler: { module: 'preserve', moduleResolution: 'bundler' },
} as const

/** The folder in which the package is installed. */
const installed = mkdtempSync(join(tmpdir(), 'package-'))
t.teardown(() => rmSync(installed, { recursive: true }))

t.test('the package works where it is installed: command, plugin and types', async (t) => {
  const folder = installed
  const run = (command: string, args: readonly string[], cwd = folder): string =>
    execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

  const output = (command: string, args: readonly string[]): string =>
    spawnSync(command, args, { cwd: folder, encoding: 'utf8' }).stdout

  const packed = run(
    'npm',
    // It compiles: its output is on standard error.
    ['run', '-s', 'package', '--', '--json', '--pack-destination', folder],
    root,
  )
  const [{ filename, files }] = JSON.parse(packed) as [
    { filename: string; files: { path: string }[] },
  ]
  const paths = files.map(({ path }) => path)
  for (const path of ['README.md', 'LICENSE', 'CHANGELOG.md', 'config/gateway.yaml']) {
    t.ok(paths.includes(path), path)
  }
  for (const [, path = ''] of readme.matchAll(/\]\(((?:gateway|config)\/[^)#]*README\.md)/g)) {
    t.ok(
      paths.includes(path) || path.startsWith('config/deploy/'),
      `${path}, which README links to`,
    )
  }
  t.ok(paths.every((path) => !/^(?:test|backend|build\/(?:test|backend))\//.test(path)))
  for (const path of ['stores/redis/quota.lua', 'portal/own.openapi.json'])
    t.ok(paths.includes(`build/gateway/front/${path}`), path)
  for (const folder of ['gateway/office/admin/console', 'gateway/front/portal/page']) {
    for (const path of filesIn(folder)) t.ok(paths.includes(`build/${path}`), path)
  }
  for (const path of paths)
    t.notMatch(path, /(?<!\.d)\.ts$|\.map$/, 'no sources, and no map of any')
  const { main, types } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    main: string
    types: string
  }
  for (const path of [main, types, types.replace(/ts$/, 'cts')])
    t.ok(paths.includes(path.replace('./', '')), path)

  for (const folder of ['gateway/office/admin/console', 'gateway/front/portal/page']) {
    const [here, packed] = [folder, `build/${folder}`].map(
      (place) => new PageFolder(join(root, place)).files,
    )
    const digest = [...(packed?.keys() ?? [])][0]?.split('/')[0] ?? ''
    for (const [path, file] of here ?? []) {
      const name = path.slice(path.indexOf('/'))
      const other = await packed?.get(`${digest}${name}`)?.bytes()
      t.ok(other?.equals(await file.bytes()), `${folder}${name}: the same bytes as in a checkout`)
    }
  }

  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  run('npm', ['install', ...quiet, filename])

  let links = 0
  for (const path of paths.filter((path) => path.endsWith('.md'))) {
    const file = join(folder, 'node_modules/tollgate', path)
    for (const [link, to = ''] of readFileSync(file, 'utf8').matchAll(
      /\]\(((?!https?:|#)[^)#]+)/g,
    )) {
      links++
      if (!existsSync(join(dirname(file), to))) t.fail(`${path}: ${link})`)
    }
  }
  t.ok(links > 200, `${links} links that lead to a file of the package`)

  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  t.equal(run('node_modules/.bin/tollgate', ['--version']).trim(), version)
  const config = 'node_modules/tollgate/config/gateway.yaml'
  const create = ['keys', 'create', '--plan', 'free', '--name', 'Me', '--config', config, '--json']
  const { key } = json(run('node_modules/.bin/tollgate', create)) as { key: string }
  t.match(key, /^tg_/)

  const upstream = await startUpstream(t)
  const code = example('The plugin')
  t.ok(code.includes('http://127.0.0.1:8090'), 'the example forwards to the animal store')
  t.ok(code.split('\n').length <= 21, 'it has 20 lines')
  mkdirSync(join(folder, 'src'))
  writeFileSync(join(folder, 'src/app.ts'), code.replace('http://127.0.0.1:8090', upstream.url))
  writeFileSync(join(folder, 'src/typos.ts'), typos)
  writeFileSync(join(folder, 'src/common.cts'), inCommonJs)
  const usual = { strict: true, target: 'es2022', types: ['node'] }
  const typeRoots = [join(root, 'node_modules/@types')]
  for (const [way, options] of Object.entries(ways)) {
    const compilerOptions = {
      ...{ ...usual, typeRoots, outDir: way, ...options },
      // Once with the package's own declarations, and those that they lead to.
      skipLibCheck: way !== 'node16',
    }
    const inModules = ['src/app.ts', 'src/typos.ts']
    const files = way === 'bundler' ? inModules : [...inModules, 'src/common.cts']
    writeFileSync(join(folder, `${way}.json`), JSON.stringify({ compilerOptions, files }))
  }
  const projects = Object.keys(ways).map((way) => `${way}.json`)
  t.equal(output(process.execPath, [tsc, '-b', ...projects]), '', 'no mistakes by types')
  t.equal(run(process.execPath, ['nodenext/common.cjs']), '{"you":"Me"} 1\n', 'in CommonJS')

  const call = await atSomePort(async (port) => {
    const app = spawn(process.execPath, ['nodenext/app.js'], {
      cwd: folder,
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    t.teardown(() => app.kill('SIGKILL'))
    let output = ''
    app.stderr.on('data', (text: Buffer) => (output += text.toString()))
    const call = caller(`http://localhost:${port}`)
    await until(async () => {
      if (app.exitCode !== null) throw new Error(output)
      return (await call('GET', '/open').catch(() => undefined))?.status === 200
    })
    return call
  })
  const headers = { authorization: `Bearer ${key}` }
  t.match(await call('GET', '/mine', undefined, headers), { status: 200, text: '{"you":"Me"}' })
  t.match(await call('GET', '/mine'), { status: 401 })
  t.match(await call('GET', '/v1/pets', undefined, headers), {
    status: 200,
    text: '{"up":"stream"}',
    // One or two requests of this minute: a new one may have begun.
    headers: { 'x-ratelimit-remaining': /^5[89]$/ },
  })
})

t.test('on a Node that is too old the package says which it needs', (t) => {
  const old =
    'Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.1.0"}})'
  for (const file of ['index.js', 'office/cli/main.js']) {
    const path = join(installed, 'node_modules/tollgate/build/gateway', file)
    const options = ['--import', `data:text/javascript,${encodeURIComponent(old)}`, path]
    const { status, stderr } = spawnSync(process.execPath, options, { encoding: 'utf8' })
    t.equal(status, 1, file)
    t.match(stderr, /Error: Tollgate needs Node 22 \(from 22\.18\), 24 or 26; this is 20\.1\.0/)
  }
  t.end()
})

t.test('a store of an app’s own is made by its page, with nothing else', (t) => {
  const folder = installed
  const page = 'node_modules/tollgate/gateway/front/stores/own/README.md'
  const files = shownFiles(relative(root, join(folder, page)))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  for (const name of ['fast-check', 'pure-rand'])
    cpSync(join(root, 'node_modules', name), join(folder, 'node_modules', name), {
      recursive: true,
    })
  const typeRoots = [join(root, 'node_modules/@types')]
  const compilerOptions = {
    ...{ strict: true, target: 'es2023', module: 'nodenext', types: ['node'], typeRoots },
    ...{ noEmit: true, allowImportingTsExtensions: true, skipLibCheck: true },
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: Object.keys(files) }),
  )
  const run = (...args: string[]) =>
    spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  t.equal(run(tsc, '-p', folder).stdout, '', 'no mistakes by types')
  const tested = run('--test', '--test-reporter=tap', 'store.test.ts')
  t.match(tested.stdout, /^# fail 0$/m, tested.stdout)
  t.match(tested.stdout, /^# pass 1\d\d$/m)
  t.equal(run('app.ts').stdout, '200 59\n')
  t.end()
})

t.test('links that leave the package lead to the version in its repository', async (t) => {
  const script = pathToFileURL(join(root, 'config/scripts/package-links.mjs')).href
  const { addressOf, packedText } = (await import(script)) as {
    addressOf: (manifest: object) => ((way: string) => string) | undefined
    packedText: (text: string, file: string, packed: string[], address: unknown) => string
  }
  const repository = { url: 'git+https://git.example/o/tollgate.git' }
  const address = addressOf({ repository, version: '1.2.3' })
  const packed = ['README.md', 'config/README.md', 'config/guides/calling.md']
  const there = 'https://git.example/o/tollgate'
  for (const [link, expected, words = 'x'] of [
    ['[x](../README.md#y)', '[x](../README.md#y)', '[x](../README.md#y)'],
    ['[x](guides/)', '[x](guides/)', '[x](guides/)'],
    ['[x](#y)', '[x](#y)', '[x](#y)'],
    ['[x](https://a.example/y)', '[x](https://a.example/y)', '[x](https://a.example/y)'],
    ['[x](../test/README.md#y)', `[x](${there}/blob/v1.2.3/test/README.md#y)`],
    ['[x](deploy/)', `[x](${there}/blob/v1.2.3/config/deploy)`],
    ['![x](now.png)', `![x](${there}/raw/v1.2.3/config/now.png)`, ''],
  ] as const) {
    t.equal(packedText(link, 'config/README.md', packed, address), expected)
    t.equal(packedText(link, 'config/README.md', packed, undefined), words, 'without an address')
  }
  t.equal(addressOf({ version: '1.2.3' }), undefined)
})

t.test('npm pack says how the package is made', (t) => {
  const { status, stderr } = spawnSync('npm', ['pack'], { cwd: root, encoding: 'utf8' })
  t.not(status, 0)
  t.match(stderr, /^npm pack here would .* Make the package by: npm run package$/m)
  t.end()
})
