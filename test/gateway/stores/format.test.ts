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

t.test('a new store has the format of the version that opens it first', async (t) => {
  await startGateway(t, { store: `redis: "${url}", prefix: "new:"` })
  await until(async () => (await client.hget('new:{keys}:store', 'format')) === '2')
  const [line = ''] = await client.hvals('new:{fleet}:lines')
  t.match(line, '"format":2', 'and its gateways tell that they know it')
})

t.test('a store of a later format is refused with a sentence', async (t) => {
  await client.hset('later:{keys}:store', 'format', '3')
  const stores = await open(t, 'later:')
  await t.rejects(
    stores.ready(),
    /has format 3, and this version of Tollgate knows formats up to 2/,
  )
  t.equal(await client.hget('later:{keys}:store', 'format'), '3')
})

t.test('a store of the former format waits for the gateways that know no other', async (t) => {
  await client.hset('former:{keys}:store', 'format', '1')
  const member = JSON.stringify({ id: 'old', name: 'edge-1', host: 'h', version: '0', sinceMs: 1 })
  const beat = () => client.zadd('former:{fleet}:beats', Date.now(), 'old')
  await client.hset('former:{fleet}:lines', 'old', ` ${member}`)
  await beat()
  const beating = setInterval(() => void beat(), 1_000)
  t.teardown(() => clearInterval(beating))
  const stores = await open(t, 'former:')
  let isReady = false
  const ready = stores.ready().then(() => (isReady = true))
  await until(() => stores.waitsFor().includes('edge-1'))
  t.match(stores.waitsFor(), /^gateways of a former version to leave, .*: edge-1$/)
  t.equal(isReady, false)
  t.equal(await client.hget('former:{keys}:store', 'format'), '1')
  clearInterval(beating)
  await client.zrem('former:{fleet}:beats', 'old')
  await ready
  t.equal(await client.hget('former:{keys}:store', 'format'), '2')
  t.notMatch(stores.waitsFor(), 'edge-1')
})
