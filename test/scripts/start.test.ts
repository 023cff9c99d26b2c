import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runNode } from '../support/checkout.ts'
import { configFor } from '../support/gateway.ts'
import { caller } from '../support/http.ts'
import { bareEnvironment, root } from '../support/process.ts'
import { atSomePort, somePort } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { folderOf } from '../support/folder.ts'

/** The last step of `npm start`, with a configuration in the test's own folder. */
function startServices(t: Test, env: Record<string, string>) {
  const services = join(root, 'config/scripts/services.mjs')
  const child = spawn(
    process.execPath,
    ['-e', `import('${services}').then((m) => m.runServices())`],
    { env: { ...bareEnvironment, ...env } },
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
    const dir = folderOf(t)
    const file = join(dir, 'gateway.yaml')
    const shipped = readFileSync(join(root, 'config/gateway.yaml'), 'utf8')
    // The backend is that of the shipped file; ports and store are replaced, the port for operators by its variable.
    const config = shipped
      .replace(/^listen: .*$/m, 'listen: { host: 127.0.0.1, port: 0 }')
      .replace(/^admin: .*$/m, 'admin: { host: 127.0.0.1, port: 0 }')
      .replace('data/gateway.db', join(dir, 'gateway.db'))
    writeFileSync(file, config)
    const said = await atSomePort(async (port) => {
      const env = { PORT: '0', DATABASE: join(dir, 'animals.db'), TOLLGATE_CONFIG: file }
      const { output } = startServices(t, { ...env, ADMIN_PORT: String(port) })
      await until(() => {
        if (output().includes('ended by itself')) throw new Error(output())
        return /enterprise +curl \S+ .*"$/m.test(output())
      }, 30_000)
      return output()
    })
    t.notMatch(said, 'keys.create', 'what it makes itself is no news')
    t.match(said, /free +curl .*\n.*\n.*\n +enterprise +curl [^\n]+\n$/, 'the welcome comes last')
    const [, backend = ''] = /^ {2}backend {2}(http:\S+) /m.exec(said) ?? []
    t.match(
      said,
      `in a second terminal, before commands,\n    export ANIMALS_URL=${backend} ADMIN_PORT=`,
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
    const direct = caller(backend)
    t.equal((await direct('GET', '/healthz')).status, 200)
    t.equal((await direct('POST', '/v1/pets', rex)).status, 403)
    t.equal((await direct('GET', '/v1/pets')).status, 403)
    const through = caller(url)
    t.equal((await through('POST', '/v1/pets', rex, { authorization: key })).status, 201)
    t.equal((await through('GET', '/v1/pets/1', undefined, { authorization: key })).status, 200)
  },
)

t.test('npm start names no variable where commands need none', async (t) => {
  const dir = folderOf(t)
  const [port, file] = [await somePort(), join(dir, 'gateway.yaml')]
  const backend = `http://127.0.0.1:${port}`
  for (const [i, [target, env]] of (
    [
      [`\${ANIMALS_URL:-${backend}}`, {}],
      ['${ANIMALS_URL}', { ANIMALS_URL: backend }],
      ['http://127.0.0.1:1', {}],
    ] as const
  ).entries()) {
    writeFileSync(file, configFor(target, `file: "${join(dir, 'gateway.db')}"`))
    const { ended, output, stop } = startServices(t, {
      ...{ PORT: String(port), DATABASE: join(dir, 'animals.db'), TOLLGATE_CONFIG: file, ...env },
    })
    await until(() => output().includes('the animal store behind it'), 30_000)
    stop()
    await ended
    t.notMatch(output(), 'export ANIMALS_URL')
    t.equal(/Sign in with the token in .*admin-token/.test(output()), i > 0, 'made once')
    t.equal(/No target of .* is that backend/.test(output()), target === 'http://127.0.0.1:1')
  }
})

t.test(
  'npm start refuses a token that others can read, and leaves ADMIN_TOKEN as it is',
  async (t) => {
    const dir = folderOf(t)
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
  const dir = folderOf(t)
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
  t.match(output(), /set another port with --port, GATEWAY_PORT or listen\.port/)
  t.match(output(), /One key for each plan was made\. .*\n +free +curl \S+ -H "Auth.* tg_/)
})

t.test('npm start -- --help tells, and starts nothing', (t) => {
  const script = join(root, 'config/scripts/start.mjs')
  const { status, output } = runNode([script, '--help'], {})
  t.equal(status, 0)
  t.match(output, /^Sets up what is missing, .*\n\n {2}npm start /)
  for (const [args, env, sentence] of [
    [['now'], {}, 'npm start takes --port N, --admin-port N and --help, got "now"'],
    [['--prt', '9'], {}, 'npm start takes --port N, --admin-port N and --help, got "--prt 9"'],
    [['--port', '70000'], {}, '--port must be a whole number from 0 to 65535, got "70000"'],
    [[], { ADMIN_PORT: 'x' }, 'ADMIN_PORT must be a whole number from 0 to 65535, got "x"'],
  ] as const) {
    const output = `${sentence}. Nothing was started.\n`
    t.strictSame(runNode([script, ...args], env), { status: 2, output }, sentence)
  }
  t.end()
})
