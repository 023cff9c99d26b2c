import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import type { RedisSettings } from '../../../gateway/front/config/config.ts'
import {
  connect,
  duplicate,
  renewAccess,
  type Connection,
} from '../../../gateway/front/stores/redis/connect.ts'
import { startUpstream } from '../../support/gateway.ts'
import { caller, json } from '../../support/http.ts'
import { start, token } from '../../support/operator.ts'
import { startCluster, startRedis, startSentinel } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

/** Files of secrets, each written as an orchestrator does: another file takes its place. */
function secretsOf(t: Test, first: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-secrets-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const write = (name: string, text: string): void => {
    writeFileSync(join(folder, `.${name}`), text)
    renameSync(join(folder, `.${name}`), join(folder, name))
  }
  for (const [name, text] of Object.entries(first)) write(name, text)
  const at = (name: string) => `\${file:${join(folder, name)}}`
  return { at, write, remove: (name: string) => rmSync(join(folder, name)) }
}

/** Has a Redis take another password from now on, for new connections. */
async function changePassword(client: Redis, password: string): Promise<void> {
  await client.config('SET', 'requirepass', password)
  await client.config('SET', 'masterauth', password)
}

/** Ends all connections but the test's own. */
async function cut(client: Redis): Promise<void> {
  for (const type of ['NORMAL', 'PUBSUB']) {
    await client.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes')
  }
}

t.test('secrets change under load, and no request fails', async (t) => {
  const { at, write, remove } = secretsOf(t, {
    ...{
      redis: 'first-password',
      key: 'first',
      alice: `${token}\n`,
      shared: 'first-secret-of-ours',
    },
  })
  const redis = await startRedis(t, '--requirepass', 'first-password')
  const upstream = await startUpstream(t)
  const running = await start(t, {
    upstream: upstream.url,
    store: `redis: "redis://:${at('redis')}@127.0.0.1:${redis.port}"`,
    upstreamMore: `forward: { headers: { x-key: ${at('key')} } }`,
    environments: [{ ADMIN_TOKEN: `alice:${at('alice')}`, GATEWAY_SECRET: at('shared') }],
  })
  const { url, operate, gateway } = running
  const headers = await running.key()
  const call = caller(url)
  const statuses = new Map<number, number>()
  let isOn = true
  t.teardown(() => (isOn = false))
  const ask = async (): Promise<void> => {
    while (isOn) {
      const { status } = await call('GET', '/v1/x', undefined, headers)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  const asking = [ask(), ask(), ask(), ask()]
  const seen = () => upstream.seen.at(-1)?.headers ?? {}
  const keyId = () => /keyid="(\w+)"/.exec(String(seen()['signature-input']))?.[1]
  await until(() => seen()['x-key'] === 'first')
  const firstId = keyId()

  write('key', 'second')
  write('shared', 'second-secret-of-ours')
  await until(() => seen()['x-key'] === 'second' && keyId() !== firstId)

  await changePassword(redis.client, 'second-password')
  write('redis', 'second-password\n')
  const next = 'fedcba9876543210-alice'
  write('alice', next)
  const as = (secret: string) =>
    operate('GET', '/admin/gateways', undefined, { authorization: `Bearer ${secret}` })
  await until(async () => (await as(next)).status === 200)
  t.equal((await as(token)).status, 401)
  for (let i = 0; i < 3; i++) {
    await cut(redis.client)
    const answered = statuses.get(200) ?? 0
    await until(async () => {
      const list = String(await redis.client.client('LIST'))
      // Its connection, and those that listen, are there again beside the test's own.
      const isBack = list.split('flags=N').length > 2 && list.includes('flags=P')
      return isBack && (statuses.get(200) ?? 0) > answered
    })
    await until(async () => json(await operate('GET', '/readyz'))['store'] === 'reachable')
  }

  // A file that is away for a while leaves everything as it is, and its return is seen.
  remove('key')
  await until(() => /there is no such file/.test(gateway.output()))
  t.equal(seen()['x-key'], 'second')
  write('key', 'third')
  await until(() => seen()['x-key'] === 'third')
  isOn = false
  await Promise.all(asking)
  t.strictSame([...statuses.keys()], [200], `${statuses.get(200)} requests`)
  t.notMatch(gateway.output(), /first-password|second-password|fedcba9876543210|secret-of-ours/)
})

/** A connection and one beside it come back by another password, after the one that they began with is none any more. */
async function comesBack(
  t: Test,
  clients: readonly Redis[],
  of: (password: string) => RedisSettings,
) {
  const connection = connect(of('first-password'), { timeoutMs: 500 })
  const beside = duplicate(connection)
  t.teardown(() => {
    connection.disconnect()
    beside.disconnect()
  })
  const answers = async (each: Connection) =>
    each.set('x', 1).then(
      () => true,
      () => false,
    )
  const listens = async (each: Connection) =>
    each.subscribe('x').then(
      () => true,
      () => false,
    )
  await until(() => answers(connection))
  await until(() => listens(beside))
  for (const client of clients) await changePassword(client, 'second-password')
  renewAccess(connection, of('second-password'))
  for (const client of clients) await cut(client)
  await until(() => answers(connection), 20_000)
  await until(() => listens(beside), 20_000)
  const later = duplicate(connection)
  t.teardown(() => later.disconnect())
  await until(() => listens(later), 20_000)
  const old = connect(of('first-password'), { timeoutMs: 500, patient: true })
  t.teardown(() => old.disconnect())
  t.notOk(await answers(old), 'where the first one is none any more')
}

const protectedBy = ['--requirepass', 'first-password', '--masterauth', 'first-password']

t.test(
  'connections to one Redis, with a user name or without, take another password',
  async (t) => {
    for (const user of ['', 'default']) {
      const { client, port } = await startRedis(t, ...protectedBy)
      await comesBack(t, [client], (password) => ({
        url: `redis://${user}:${password}@127.0.0.1:${port}/0`,
      }))
    }
  },
)

t.test('connections to a Cluster do', async (t) => {
  const { nodes, clients } = await startCluster(t, ...protectedBy)
  await comesBack(t, clients, (password) => ({ cluster: nodes, password }))
})

t.test('connections to the master of Sentinels do, and those to the Sentinels', async (t) => {
  const { sentinel, name, servers } = await startSentinel(t, {
    more: protectedBy,
    sentinelMore: 'requirepass first-password\nsentinel auth-pass gw first-password\n',
  })
  const ofSentinel = new Redis(Number(sentinel.split(':')[1]), { password: 'first-password' })
  t.teardown(() => ofSentinel.disconnect())
  const clients = servers.map(({ client }) => client)
  await comesBack(t, [...clients], (password) => ({
    ...{ sentinels: [sentinel], name, password, sentinelPassword: 'first-password' },
  }))
})
