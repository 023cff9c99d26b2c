import t, { type Test } from 'tap'
import { openStores } from '../../../gateway/front/stores/open.ts'
import { startGateway } from '../../support/gateway.ts'
import { startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const { url, client } = await startRedis(t)

async function open(t: Test, prefix: string) {
  const settings = { file: '', redis: { url }, prefix, whenUnreachable: 'local' } as const
  const stores = await openStores({ ...settings, timeoutMs: 2_000 })
  t.teardown(() => stores.close())
  return stores
}

/** A gateway that knows only the former format, and what a store of it has. */
async function formerGateway(t: Test, prefix: string): Promise<() => Promise<unknown>> {
  await client.hset(`${prefix}{keys}:store`, { format: '1', epoch: crypto.randomUUID() })
  const member = JSON.stringify({ id: 'old', name: 'edge-1', host: 'h', version: '0', sinceMs: 1 })
  const beat = () => client.zadd(`${prefix}{fleet}:beats`, Date.now(), 'old')
  await client.hset(`${prefix}{fleet}:lines`, 'old', ` ${member}`)
  await beat()
  const beating = setInterval(() => void beat(), 1_000)
  t.teardown(() => clearInterval(beating))
  return () => {
    clearInterval(beating)
    return client.zrem(`${prefix}{fleet}:beats`, 'old')
  }
}

t.test('a new store has the format of the version that opens it first', async (t) => {
  await startGateway(t, { store: `redis: "${url}", prefix: "new:"` })
  await until(async () => (await client.hget('new:{keys}:store', 'format')) === '2')
  const [line = ''] = await client.hvals('new:{fleet}:lines')
  t.match(line, '"format":2', 'and its gateways tell that they know it')
})

t.test('a store of a later format is refused with a sentence', async (t) => {
  await client.hset('later:{keys}:store', { format: '3', epoch: crypto.randomUUID() })
  const stores = await open(t, 'later:')
  await t.rejects(
    stores.ready(),
    /has format 3, and this version of Tollgate knows formats up to 2/,
  )
  t.equal(await client.hget('later:{keys}:store', 'format'), '3')
})

t.test(
  'a store of the former format stays so until the gateways that know no other have left',
  async (t) => {
    const leave = await formerGateway(t, 'former:')
    const stores = await open(t, 'former:')
    await stores.ready()
    t.match(stores.warnings, [/^gateways of a former version use this Redis, too \(edge-1\)/])
    const limits = { perMinute: 9, perDay: 9 }
    const fieldsAfterOne = async (key: string) => {
      await stores.quota.decide('key:A', { key, cost: 2, limits })
      return await client.hgetall('former:quota:key:A')
    }
    t.match(await fieldsAfterOne('A'), { c: /^\d+,2,\d+,2,0,0$/, w: /^2,0,1,/ })
    await t.rejects(
      stores.quota.grant('key:A', { perDay: 1, by: 'x', note: undefined }),
      /until they have left, points can't be granted/,
    )
    await t.rejects(stores.quota.setMonthFrom('key:A', 15), /months keep their first day/)
    t.equal(await client.hget('former:{keys}:store', 'format'), '1')
    await leave()
    await until(async () => (await client.hget('former:{keys}:store', 'format')) === '2')
    await until(() => stores.warnings.length === 0)
    const fields = await fieldsAfterOne('A')
    t.match(fields['c'], /^4,0,1,/)
    t.notOk('w' in fields)
    t.equal(await stores.quota.grant('key:A', { perDay: 1, by: 'x', note: undefined }), true)
  },
)

t.test('a gateway that starts while Redis is away learns of former ones later', async (t) => {
  await formerGateway(t, 'away:')
  const stores = await open(t, 'away:')
  // It never waited for Redis to be ready.
  await until(() => stores.warnings.some((text) => text.includes('edge-1')))
  t.pass()
})
