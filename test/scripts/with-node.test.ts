import { spawn, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkout, fakeNpm, runNode } from '../support/checkout.ts'
import { folderOf } from '../support/folder.ts'
import { root } from '../support/process.ts'

/** What the script brings to this platform: package, version and digest. */
const entry = new RegExp(
  `'${process.platform}-${process.arch}': \\[\\s+'(\\S+)@(\\S+)',\\s+'(\\S+)'`,
)
const [, name = '', version = '', digest = ''] =
  entry.exec(readFileSync(join(root, 'config/scripts/with-node.mjs'), 'utf8')) ?? []

type Npm = Readonly<{
  /** The code of an npm; without it, the one of the path. */
  code?: string
  /** The tarball whose digest the script holds in place of the true one. */
  known?: string | Buffer
  env?: Record<string, string>
}>

/** A program of a checkout, run as a script of package.json on a Node that says it is of some version. */
function scriptOf(t: Test, program: string, { code, known, env: more = {} }: Npm) {
  const folder = checkout(t)
  const target = join(folder, 'checkout', 'program.ts')
  writeFileSync(target, program)
  const script = join(folder, 'checkout/config/scripts/with-node.mjs')
  if (known !== undefined) {
    const text = readFileSync(script, 'utf8')
    writeFileSync(script, text.replace(digest, hash('sha512', known, 'base64')))
  }
  const npm = code === undefined ? {} : { npm_execpath: fakeNpm(folder, code) }
  const env = { ...npm, HOME: join(folder, 'home'), ...more }
  const args = (node: string, system?: string) => [
    ...pretending(node, system),
    ...[script, target, 'one', '--two'],
  ]
  return {
    checkout: join(folder, 'checkout'),
    run: (node: string, system?: string) => runNode(args(node, system), env),
    start: (node: string) =>
      spawn(process.execPath, args(node), { env: { PATH: process.env['PATH'] ?? '', ...env } }),
  }
}

/** Code that makes Node report another version of itself and another system, alone in the process that it is given to. */
function pretending(node: string, system: string = process.platform): string[] {
  const code = `const versions={...process.versions,node:'${node}'}
Object.defineProperty(process,'versions',{value:versions})
Object.defineProperty(process,'platform',{value:'${system}'})`
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
}

/** An npm that brings this Node as that package, and notes that it was asked. */
const known = 'a tarball'
const tarball = `${name}-${version}.tgz`
const code = `
fs.appendFileSync('../../../asked', process.argv.slice(2).join(' ') + '\\n')
if (process.argv[2] === 'pack') {
  fs.writeFileSync('${tarball}', '${known}')
} else {
  fs.mkdirSync('node_modules/${name}/bin', { recursive: true })
  fs.symlinkSync(${JSON.stringify(process.execPath)}, 'node_modules/${name}/bin/node')
}`
const brings = { code, known }

const tells = `const words: string[] = process.argv.slice(2)
console.log(JSON.stringify({ node: process.versions.node, words, path: process.env.PATH }))
process.exitCode = 3`

t.test('a Node that runs Tollgate runs it itself', (t) => {
  const { run } = scriptOf(t, tells, { code: 'process.exit(9)' })
  for (const version of ['22.18.0', '22.23.3', '24.0.0', '24.21.0', '26.10.0']) {
    const { status, output } = run(version)
    t.match(
      { status, output },
      { status: 3, output: `"node":"${version}","words":["one","--two"]` },
    )
    t.equal(output.split('\n').length, 2, 'it says nothing of its own')
  }
  t.end()
})

t.test('any other Node brings one by npm, once, and goes on with it', (t) => {
  const { run, checkout } = scriptOf(t, tells, brings)
  const others = ['18.20.4', '20.20.2', '21.7.0', '22.17.1', '23.11.0', '25.1.0', '27.0.0']
  for (const [i, other] of others.entries()) {
    const { status, output } = run(other)
    t.equal(status, 3, other)
    const told = `Fetching Node ${version}, because Tollgate doesn't run on ${other}`
    t.equal(output.includes(told), i === 0, 'told when it is fetched')
    const { node, words, path } = JSON.parse(/^\{.*$/m.exec(output)?.[0] ?? '')
    t.equal(node, process.versions.node)
    t.strictSame(words, ['one', '--two'])
    t.match(
      path,
      join(checkout, '.cache/node', version, 'node_modules'),
      'children find it by name',
    )
  }
  const asked = readFileSync(join(checkout, 'asked'), 'utf8').trim().split('\n')
  t.strictSame(asked, [
    `pack ${name}@${version} --ignore-scripts`,
    `install --no-save --no-audit ./${tarball} --ignore-scripts`,
  ])
  t.end()
})

t.test('where it can’t be had, one sentence says which Nodes do', (t) => {
  const refusals = [
    [
      { code: `console.log('npm error 404 Not Found - node-x@24'); process.exit(1)` },
      /and npm could not install the packages: 404 Not Found/,
    ],
    [
      { code: code.replace(JSON.stringify(process.execPath), '"/of/another/system"'), known },
      /and the one that npm has doesn't run here \(spawn .* ENOENT\)\.\n$/,
    ],
  ] as const
  for (const [npm, sentence] of refusals) {
    const { run, checkout } = scriptOf(t, tells, npm)
    const { status, output } = run('20.20.2')
    t.equal(status, 1)
    const [, said = ''] = output.split(/(?=Tollgate runs on)/)
    t.match(said, /^Tollgate runs on Node 22 \(from 22\.18\), 24 and 26; this is 20\.20\.2, /)
    t.match(said, sentence)
    t.equal(said.split('\n').length, 2, 'one line')
    t.strictSame(readdirSync(join(checkout, '.cache/node')), [], 'nothing is left')
  }
  t.end()
})

t.test('signals reach the program, and its end is the script’s', async (t) => {
  const waits = `process.on('SIGTERM', () => console.log('TERM'))
process.on('SIGHUP', () => process.kill(process.pid, 'SIGKILL'))
setInterval(() => undefined, 1_000)
console.log('waits')`
  const { start } = scriptOf(t, waits, brings)
  const child = start('20.20.2')
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  const heard = async (text: string) => {
    while (!output.includes(text)) output += String((await once(child.stdout, 'data'))[0])
  }
  await heard('waits')
  child.kill('SIGTERM')
  await heard('TERM')
  child.kill('SIGHUP')
  t.strictSame(await once(child, 'exit'), [null, 'SIGKILL'])
})

/** A registry of one package, which is consistent in itself; gives back its tarball and whether its Node has run. */
async function mirror(t: Test) {
  const folder = folderOf(t, { package: { bin: {} } })
  const ran = join(folder, 'ran')
  const about = { name, version, scripts: { install: `touch ${ran}` } }
  writeFileSync(join(folder, 'package/package.json'), JSON.stringify(about))
  const program = `#!/bin/sh\ntouch ${ran}\nexec ${process.execPath} "$@"\n`
  writeFileSync(join(folder, 'package/bin/node'), program, { mode: 0o755 })
  const served = spawnSync('tar', ['-czf', '-', 'package'], { cwd: folder }).stdout
  const server = createServer(({ url, headers }, response) => {
    const dist = {
      tarball: `http://${headers.host}/${tarball}`,
      integrity: `sha512-${hash('sha512', served, 'base64')}`,
      shasum: hash('sha1', served),
    }
    const found = { name, 'dist-tags': {}, versions: { [version]: { name, version, dist } } }
    response.end(url === `/${tarball}` ? served : JSON.stringify(found))
  })
  server.listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const env = {
    npm_config_registry: `http://127.0.0.1:${port}/`,
    npm_config_cache: join(folder, 'cache'),
  }
  return { served, env, hasRun: () => existsSync(ran) }
}

t.test('a Node of a registry that isn’t the known one doesn’t run', async (t) => {
  const { served, env, hasRun } = await mirror(t)
  for (const isKnown of [false, true]) {
    await t.test(isKnown ? 'known' : 'unknown', async (t) => {
      const given = { env, ...(isKnown ? { known: served } : {}) }
      const { start, checkout } = scriptOf(t, tells, given)
      const child = start('20.20.2')
      let output = ''
      child.stdout.on('data', (data: Buffer) => (output += data.toString()))
      child.stderr.on('data', (data: Buffer) => (output += data.toString()))
      const [status] = await once(child, 'close')
      t.equal(status, isKnown ? 3 : 1, output)
      t.equal(hasRun(), isKnown)
      if (isKnown) return
      t.match(output, `the ${name}@${version} of npm's registry isn't the one that Tollgate knows`)
      t.strictSame(readdirSync(join(checkout, '.cache/node')), [], 'nothing is left')
    })
  }
})

t.test('for a system whose Node isn’t known none is fetched', (t) => {
  const { run, checkout } = scriptOf(t, tells, brings)
  const { status, output } = run('20.20.2', 'sunos')
  t.equal(status, 1)
  t.match(output, `and none can be fetched for sunos-${process.arch}: install one of these.\n`)
  t.equal(output.split('\n').length, 2, 'one line')
  t.notOk(existsSync(join(checkout, 'asked')))
  t.end()
})
