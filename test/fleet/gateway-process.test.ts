import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { commandLine } from '../support/command-line.ts'
import { runCommand } from '../support/command.ts'
import { configFor } from '../support/gateway.ts'
import { caller, json, type Call } from '../support/http.ts'
import { modesIn, root, startProcess } from '../support/process.ts'
import { bound } from '../support/promises.ts'
import { folderOf } from '../support/folder.ts'

t.test('an embedded gateway that is killed has lost a second of counting at most', async (t) => {
  const { runJson, gateway, gatewayProcess } = await commandLine(
    t,
    'file: $DIR/gateway.db',
    `drain: 0s
plans: { pro: { perMinute: 300, perHour: 10000, perDay: 10000, perMonth: 10000 } }`,
  )
  const { key } = await runJson('keys', 'create', '--plan', 'pro', '--name', 'Acme')
  const headers = { authorization: `Bearer ${String(key)}` }
  const left = async (call: Call) => {
    const quota = json(await call('GET', '/v1/quota', undefined, headers))
    const remaining = ['hour', 'day', 'month'].map(
      (window) => (quota[window] as { remaining: number }).remaining,
    )
    t.equal(
      new Set(remaining).size,
      1,
      `an hour and a month have what the day has: ${remaining.join()}`,
    )
    return remaining[1]
  }
  let used = 0
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const service = gatewayProcess()
    const call = caller(await service.url)
    t.equal(await left(call), 10_000 - used, 'nothing that is a second old is forgotten')
    for (let i = 0; i < 25; i++) await call('GET', '/v1/pets', undefined, headers)
    used += 25
    if (signal === 'SIGKILL') await new Promise((go) => setTimeout(go, 1_000))
    service.child.kill(signal)
    await service.ended
  }
  const { call } = await gateway()
  t.equal(await left(call), 10_000 - used, 'and nothing at all after a stop')
})

t.test('nobody else may read the file of keys, nor what is beside it', async (t) => {
  const umask = process.umask(0)
  t.teardown(() => process.umask(umask))
  const { run, gateway, folder } = await commandLine(t, 'file: $DIR/made/gateway.db')
  await gateway()
  t.match(await run('keys', 'create', '--plan', 'free', '--name', 'Me'), { code: 0 })
  t.strictSame(modesIn(join(folder, 'made')), {
    '.': '700',
    'gateway.db': '600',
    'gateway.db-counting': '600',
    'gateway.db-counting-journal': '600',
    'gateway.db-shm': '600',
    'gateway.db-wal': '600',
  })
})

t.test('a gateway that cannot start says why', async (t) => {
  const folder = folderOf(t)
  const own = join(folder, 'gateway.yaml')
  const startBy = async (file: string, env = {}) => {
    const service = startProcess(t, 'gateway/main.ts', { env: { TOLLGATE_CONFIG: file, ...env } })
    return { ...(await service.ended), output: service.output() }
  }
  const start = (config: string, env = {}) => {
    writeFileSync(own, config)
    return startBy(own, env)
  }
  const sound = configFor('http://127.0.0.1:1', `file: ${join(folder, 'gateway.db')}`)

  const begun = performance.now()
  const { code, output } = await startBy(join(root, 'test/gateway/configs/several.yaml'))
  t.equal(code, 2)
  t.ok(performance.now() - begun < bound(2_000))
  const lines = output.trim().split('\n')
  t.equal(lines.length, 5, 'it tells all mistakes of a configuration')
  for (const line of lines) t.match(line, /^\/.*several\.yaml:\d+:\d+: /)

  t.match(await start(sound.replace(/file: \S+/, 'file: /dev/null/x.db')), {
    code: 2,
    output: /can't be used/,
  })
  t.match(await start(sound, { LOG_LEVEL: 'loud' }), {
    code: 2,
    output: /LOG_LEVEL must be one of/,
  })
  const GATEWAY_SECRET = 'between the two,'
  const faulty = await start(sound, { GATEWAY_SECRET })
  t.match(faulty, { code: 2, output: /^gateway: GATEWAY_SECRET has an empty part[^\n]*\n$/ })
  const store = 'store: { redis: "redis://127.0.0.1:1" }\nworkers: 2'
  const workers = sound.replace(/store: .*/, store)
  t.strictSame(await start(workers, { GATEWAY_SECRET }), faulty, 'nor do workers')

  const open = sound.replace('admin: { host: 127.0.0.1', 'admin: { host: 0.0.0.0')
  t.match(await start(open, { ADMIN_TOKEN: ' ' }), {
    code: 2,
    output: /admin\.host is 0\.0\.0\.0, which others can reach: set ADMIN_TOKEN/,
  })
  const wrong = await start(sound, { ADMIN_TOKEN: 'alice:a-token:of-alice' })
  t.match(wrong, { code: 2, output: /^gateway: ADMIN_TOKEN has .*\n$/ }, 'in one sentence')
  t.notMatch(wrong.output, /of-alice/)
})

t.test('an option goes before a variable, and this before the port of the file', async (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'gateway.yaml')
  const takenPort = async (): Promise<string> => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    t.teardown(() => taken.close())
    return String((taken.address() as AddressInfo).port)
  }
  const [inUse, adminInUse] = [await takenPort(), await takenPort()]
  const sound = configFor('http://127.0.0.1:1', `file: ${join(folder, 'gateway.db')}`)
  const withPort = (text: string, section: string, port: string): string =>
    text.replace(
      new RegExp(`^${section}: .*`, 'm'),
      `${section}: { host: 127.0.0.1, port: ${port} }`,
    )
  const decideInUse = await takenPort()
  const places = withPort(withPort(sound, 'listen', inUse), 'admin', adminInUse)
  writeFileSync(file, `${places}decide: { port: ${decideInUse}, for: envoy }\n`)
  const ADMIN_TOKEN = 'a-token-of-operators'
  const common = { TOLLGATE_CONFIG: file, ADMIN_TOKEN, LOG_LEVEL: 'info' }
  const start = (args: string[], env: Record<string, string>) =>
    startProcess(t, 'gateway/main.ts', { args, env: { ...common, ...env } })
  for (const [args, env] of [
    [
      ['--port', '0', '--admin-port', '0', '--decide-port', '0'],
      { GATEWAY_PORT: inUse, ADMIN_PORT: inUse, DECIDE_PORT: inUse },
    ],
    [[], { GATEWAY_PORT: '0', ADMIN_PORT: '0', DECIDE_PORT: '0' }],
  ] as const) {
    const gateway = start([...args], env)
    const { port } = new URL(await gateway.url)
    t.not(port, inUse)
    const places = [...gateway.output().matchAll(/listening at http:\/\/127\.0\.0\.1:(\d+)/g)]
    const [adminPort = ''] = places.flatMap(([, each = '']) => (each === port ? [] : each))
    const run = (...words: string[]) => runCommand(words, { ...common, ADMIN_PORT: adminPort })
    const running = await run('config', 'running', '--json')
    t.equal(running.code, 0)
    t.match(await run('config', 'diff'), { code: 0, out: /changes nothing\.\n$/ })
    gateway.signal('SIGTERM')
    await gateway.ended
  }
  for (const [args, env, sentence] of [
    [
      [],
      { GATEWAY_PORT: 'tcp://10.0.0.7:80', ADMIN_PORT: '' },
      'set another port with --admin-port, ADMIN_PORT or admin.port',
    ],
    [
      ['--admin-port=0', '--decide-port=0'],
      {},
      'set another port with --port, GATEWAY_PORT or listen.port',
    ],
    [['--admin-port=0'], {}, 'set another port with --decide-port, DECIDE_PORT or decide.port'],
    [['--port', '65536'], {}, '--port must be a whole number from 0 to 65535, got "65536"'],
    [[], { ADMIN_PORT: '80 81' }, 'ADMIN_PORT must be a whole number from 0 to 65535, got "80 81"'],
  ] as const) {
    const gateway = start([...args], env)
    t.equal((await gateway.ended).code, 2)
    t.match(gateway.output(), sentence)
  }
  const wrong = await runCommand(['config', 'running'], { ...common, ADMIN_PORT: 'x' })
  t.match(wrong, { code: 2, out: /^tollgate: ADMIN_PORT must be a whole number from 0 to 65535/ })
})
