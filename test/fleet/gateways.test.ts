import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { FleetView } from '../../gateway/office/fleet/view.ts'
import { runCommand } from '../support/command.ts'
import { caller, json } from '../support/http.ts'
import { token } from '../support/operator.ts'
import { bound, held } from '../support/promises.ts'
import { startProcess, type Service } from '../support/process.ts'
import { atSomePort, startCluster } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { configFor, startUpstream } from '../support/gateway.ts'
import { folderOf } from '../support/folder.ts'

type Place = Readonly<{ name: string; file: string; admin: number; process: Service; url: string }>

const env = { ADMIN_TOKEN: token, LOG_LEVEL: 'info' }
const headers = { authorization: `Bearer ${token}` }

/** Starts a gateway with a file and an admin address of its own. */
async function startNamed(t: Test, name: string, store: string, more = {}): Promise<Place> {
  const upstream = await startUpstream(t)
  const file = join(t.testdirName, `${name}.yaml`)
  const text = configFor(upstream.url, store, {
    more: 'name: "${NAME}"\nworkers: "${WORKERS:-1}"\ndrain: 0ms',
    admin: '{ host: 127.0.0.1, port: "${ADMIN_PORT}" }',
    targets: '[ "${UPSTREAM}" ]',
  })
  writeFileSync(file, text)
  return atSomePort(async (admin) => {
    const own = { NAME: name, ADMIN_PORT: String(admin), UPSTREAM: upstream.url }
    const process = startProcess(t, 'gateway/main.ts', {
      env: { ...env, ...more, ...own, TOLLGATE_CONFIG: file },
    })
    return { name, file, admin, process, url: await process.url }
  })
}

async function fleetAt({ admin }: Place): Promise<FleetView> {
  const ask = caller(`http://127.0.0.1:${admin}`)
  const answer = await ask('GET', '/admin/gateways', undefined, headers)
  return json(answer) as FleetView
}

const namesOf = ({ gateways }: FleetView): string[] => gateways.map(({ name }) => name)

t.test('three gateways, one of several workers, know all of it from each other', async (t) => {
  folderOf(t)
  const { nodes } = await startCluster(t)
  const store = `redis: { cluster: ${JSON.stringify(nodes)} }`
  const [one, two, three] = await Promise.all([
    startNamed(t, 'edge-1', store, { WORKERS: '2' }),
    startNamed(t, 'edge-2', store),
    startNamed(t, 'edge-3', store),
  ])
  const all = ['edge-1/1', 'edge-1/2', 'edge-2', 'edge-3']
  for (const place of [one, two, three]) {
    await until(async () => {
      // A store that is slow at first is told with 503.
      const { gateways = [] }: Partial<FleetView> = await fleetAt(place)
      return gateways.length === 4 && gateways.every(({ address }) => address !== null)
    })
    const view = await fleetAt(place)
    t.strictSame(namesOf(view), all)
    t.match(view.summary, /^All 4 gateways run [0-9a-f]{4}…$/)
    t.equal(view.inForce.length, 1)
    t.strictSame(
      view.gateways.map(({ worker }) => worker),
      [1, 2, null, null],
    )
    t.equal(new Set(view.gateways.map(({ pid }) => pid)).size, 4)
    t.equal(view.gateways[0]?.address, one.url)
    t.match(view.gateways[0]?.store, /^the Redis Cluster at /)
  }

  const before = readFileSync(three.file, 'utf8')
  writeFileSync(three.file, before.replace('perMinute: 60,', 'perMinute: 61,'))
  const changedAtMs = performance.now()
  for (const place of [one, two, three]) {
    await until(async () => (await fleetAt(place)).inForce.length === 2)
    const { summary } = await fleetAt(place)
    t.match(
      summary,
      /^4 gateways run different configurations since 20.{17}Z: edge-1\/1, edge-1\/2 and edge-2 \w+…, edge-3 \w+…$/,
    )
  }
  const seconds = (performance.now() - changedAtMs) / 1_000
  held(
    t,
    'another configuration is seen by all within 3 s',
    `${seconds.toFixed(1)} s`,
    seconds < bound(3_000) / 1_000,
  )
  const metrics = async () =>
    (await caller(`http://127.0.0.1:${one.admin}`)('GET', '/metrics')).text
  await until(async () => (await metrics()).includes('\ntollgate_configs_in_force 2\n'))
  t.match(await metrics(), /^tollgate_gateways 4$/m, 'it is no sum over workers')

  writeFileSync(three.file, before.replace('perMinute: 60,', 'perMinute: x,'))
  await until(async () => (await fleetAt(one)).summary.includes('refuses its file: line '))
  const environment = { ...env, NAME: 'x', ADMIN_PORT: String(one.admin), UPSTREAM: 'http://h' }
  const { stdout, code } = await runCommand(['gateways', '--config', one.file], environment)
  t.equal(code, 0)
  t.match(stdout, /^edge-3 +\d+\.\d+\.\d+ .* the Redis Cluster at 127\.0\.0\.1/m)
  t.match(stdout, /^edge-3 refuses its current file: \S+:\d+:\d+: plans\.free\.perMinute must/m)

  const answer = await fetch(`${one.url}/v1/x`)
  t.notMatch(JSON.stringify([...answer.headers]) + (await answer.text()), 'edge-', 'for operators')
  t.match(one.process.output(), /"service":"gateway","name":"edge-1\/2"/)
  t.match(one.process.output(), /"service":"admin","name":"edge-1\/1"/)

  const [worker] = (await fleetAt(two)).gateways
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  three.process.child.kill('SIGKILL')
  const killedAtMs = performance.now()
  const left = ['edge-1/2', 'edge-1/3', 'edge-2']
  await until(async () => namesOf(await fleetAt(two)).join() === left.join())
  const silence = (performance.now() - killedAtMs) / 1_000
  held(
    t,
    'a gateway that is killed is gone after 5 s',
    `${silence.toFixed(1)} s`,
    silence < bound(6_000) / 1_000,
  )
  two.process.child.kill('SIGTERM')
  await two.process.ended
  t.strictSame(namesOf(await fleetAt(one)), left.slice(0, 2), 'one that stops leaves at once')
})
