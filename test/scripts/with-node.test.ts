import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkout, fakeNpm, runNode } from '../support/checkout.ts'

/** A program of a checkout, run as a script of package.json on a Node that says it is of some version. */
function scriptOf(t: Test, program: string, npm: string) {
  const folder = checkout(t)
  const target = join(folder, 'checkout', 'program.ts')
  writeFileSync(target, program)
  const npm_execpath = fakeNpm(folder, npm)
  const script = join(folder, 'checkout/config/scripts/with-node.mjs')
  const env = { npm_execpath, HOME: join(folder, 'home') }
  const args = (node: string) => [...pretending(node), script, target, 'one', '--two']
  return {
    checkout: join(folder, 'checkout'),
    run: (node: string) => runNode(args(node), env),
    start: (node: string) =>
      spawn(process.execPath, args(node), { env: { PATH: process.env['PATH'] ?? '', ...env } }),
  }
}

/** Code that makes Node report another version of itself, alone in the process that it is given to. */
function pretending(node: string): string[] {
  const code = `const versions={...process.versions,node:'${node}'}
Object.defineProperty(process,'versions',{value:versions})`
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
}

/** An npm that brings this Node as that package, and notes that it was asked. */
const brings = `
const name = process.argv.at(-1).split('@')[0]
fs.appendFileSync('../../../asked', process.argv.slice(2).join(' ') + '\\n')
fs.mkdirSync('node_modules/' + name + '/bin', { recursive: true })
fs.symlinkSync(${JSON.stringify(process.execPath)}, 'node_modules/' + name + '/bin/node')`

const tells = `const words: string[] = process.argv.slice(2)
console.log(JSON.stringify({ node: process.versions.node, words, path: process.env.PATH }))
process.exitCode = 3`

t.test('a Node that runs Tollgate runs it itself', (t) => {
  const { run } = scriptOf(t, tells, 'process.exit(9)')
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

t.test('any other Node brings Node 24 by npm, once, and goes on with it', (t) => {
  const { run, checkout } = scriptOf(t, tells, brings)
  const others = ['18.20.4', '20.20.2', '21.7.0', '22.17.1', '23.11.0', '25.1.0', '27.0.0']
  for (const [i, version] of others.entries()) {
    const { status, output } = run(version)
    t.equal(status, 3, version)
    const told = `Fetching Node 24.21.0, because Tollgate doesn't run on ${version}`
    t.equal(output.includes(told), i === 0, 'told when it is fetched')
    const { node, words, path } = JSON.parse(/^\{.*$/m.exec(output)?.[0] ?? '')
    t.equal(node, process.versions.node)
    t.strictSame(words, ['one', '--two'])
    t.match(path, join(checkout, '.cache/node/24.21.0/node_modules'), 'children find it by name')
  }
  const asked = readFileSync(join(checkout, 'asked'), 'utf8').trim().split('\n')
  const name = `node-${process.platform}-${process.arch}@24.21.0`
  t.strictSame(asked, [`install --no-save --ignore-scripts ${name}`])
  t.end()
})

t.test('where it can’t be had, one sentence says which Nodes do', (t) => {
  const refusals = [
    [
      `console.log('npm error 404 Not Found - node-x@24'); process.exit(1)`,
      /and npm could not install the packages: 404 Not Found/,
    ],
    [
      brings.replace(JSON.stringify(process.execPath), '"/of/another/system"'),
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
