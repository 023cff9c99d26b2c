import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { Client } from 'undici'
import { openStores } from '../../gateway/front/stores/open.ts'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { startFleet, startServed } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { token } from '../support/operator.ts'
import { adminOf, startProcess } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'

const more =
  'plans: { free: { perMinute: unlimited, perDay: unlimited, perMonth: { limit: 100, beyond: prepaid } } }'

/** A command of an operator, as a process of its own. */
async function run(t: Test, file: string, ...args: string[]): Promise<unknown> {
  const env = { TOLLGATE_CONFIG: file, LOG_LEVEL: 'silent', TOLLGATE_BY: 'eve' }
  const { ended, stdout } = startProcess(t, 'gateway/office/cli/main.ts', { env, args })
  await ended
  return JSON.parse(stdout())
}

t.test('four gateways × 64 connections let in exactly what is included and bought', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const redis = await startRedis(t)
  const { urls, key, file } = await startServed(t, {
    ...{ upstream, more, store: `redis: "${redis.url}"`, environments: [{}, {}, {}, {}] },
  })
  const headers = await key({ name: 'acme', account: 'acme' })
  const { store } = parseConfig(readFileSync(file, 'utf8'), {}, 'fleet.yaml')
  const stores = await openStores(store, { forCommandLine: true })
  t.teardown(() => stores.close())
  const quota = 'account:acme'
  const topUp = () => run(t, file, 'quota', 'top-up', 'acme', '70', '--id', 'one', '--json')
  const buy = (points: number, id: string) => stores.quota.topUp(quota, { id, points, by: 'eve' })
  const [first, second] = await Promise.all([topUp(), topUp(), buy(30, 'two'), buy(50, 'three')])
  t.strictSame(
    [first, second].map((each) => (each as { again: boolean }).again).sort(),
    [false, true],
    'one that is sent from two processes counts once, and all that are sent at once count',
  )
  const clients = urls.flatMap((url) => Array.from({ length: 64 }, () => new Client(url)))
  t.teardown(() => Promise.all(clients.map((client) => client.close())))
  const statuses: number[] = []
  const ask = async (client: Client): Promise<void> => {
    const { statusCode, body } = await client.request({ method: 'GET', path: '/v1/x', headers })
    await body.dump()
    statuses.push(statusCode)
  }
  for (let i = 0; i < 2; i++) await Promise.all(clients.map(ask))
  t.equal(statuses.filter((status) => status === 200).length, 100 + 70 + 30 + 50)
  t.equal(statuses.filter((status) => status === 429).length, 512 - 250)
  const told = json(await caller(urls[3] ?? '')('GET', '/v1/quota', undefined, headers))
  t.match(told, { month: { limit: 250, remaining: 0, beyond: 150, prepaid: { left: 0 } } })
})

t.test('an embedded gateway that is killed keeps each top-up that it has answered', async (t) => {
  const { url: upstream } = await startUpstream(t)
  const env = { LOG_LEVEL: 'info', ADMIN_TOKEN: token }
  const { processes, file } = await startFleet(t, { upstream, more, environments: [env] })
  const headers = { authorization: `Bearer ${token}` }
  let [gateway] = processes
  let id: unknown
  for (let round = 1; gateway && round <= 3; round++) {
    const operate = caller(await adminOf(gateway))
    const topUp = { points: 5, id: `invoice-${Math.min(2, round)}` }
    const made = { name: 'acme', plan: 'free' }
    id ??= json(await operate('POST', '/admin/keys', made, headers))['id']
    const answer = await operate('POST', `/admin/quota/${String(id)}/top-up`, topUp, headers)
    gateway.signal('SIGKILL')
    t.match(json(answer), { again: round === 3, left: 5 * Math.min(2, round) })
    await gateway.ended
    if (round < 3) {
      gateway = startProcess(t, 'gateway/main.ts', { env: { ...env, TOLLGATE_CONFIG: file } })
    }
  }
})
