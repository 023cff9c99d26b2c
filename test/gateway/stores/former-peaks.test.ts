import { join } from 'node:path'
import t, { type Test } from 'tap'
import { daysOf, type PeakStore, type QuotaDay } from '../../../gateway/front/counts/peak-store.ts'
import { migrations, openGatewayFile } from '../../../gateway/front/stores/embedded/database.ts'
import { embeddedPeaks } from '../../../gateway/front/stores/embedded/peaks.ts'
import { redisPeaks } from '../../../gateway/front/stores/redis/peaks.ts'
import { openSqlite } from '../../../shared/sqlite.ts'
import { peak } from '../../support/filled-store.ts'
import { connectionTo } from '../../support/redis-stores.ts'
import { startRedis } from '../../support/redis.ts'
import { folderOf } from '../../support/folder.ts'

const [quota, day] = ['account:acme', 20_000]

async function goesOn(t: Test, store: PeakStore): Promise<void> {
  const listed = async (): Promise<QuotaDay[]> => {
    const all: QuotaDay[] = []
    for await (const some of store.list(day - 9, day + 9)) all.push(...some.flatMap(daysOf))
    return all.sort((a, b) => a.day - b.day)
  }
  const former = [
    peak(quota, { day: day - 2, most: { minute: 4, day: 40 }, refused: { minute: 6, day: 1 } }),
    peak(quota, { day, most: { minute: 5, day: 50 } }),
  ]
  t.strictSame(await listed(), former, 'reads what a former version has stored')
  const line = peak(quota, { day, most: { minute: 3, day: 60, month: 600 }, refused: { month: 1 } })
  await store.add({ by: 'new', number: 1, lines: [line] })
  t.strictSame(
    await listed(),
    [former[0], { ...line, most: { ...line.most, minute: 5 } }],
    'and goes on with it',
  )
}

t.test('a file of a version that knew minutes and days alone is read on', async (t) => {
  const file = join(folderOf(t), 'gateway.db')
  const known = migrations.slice(
    0,
    migrations.findIndex((step) => step.includes('mostMinute')),
  )
  const former = openSqlite(file, { migrations: known, busyTimeoutMs: 100 })
  former.exec(`INSERT INTO peakQuotas VALUES (1, '${quota}', ${day});
    INSERT INTO peaks VALUES (${day - 2}, 1, 4, 40, 6, 1), (${day}, 1, 5, 50, 0, 0)`)
  former.close()
  const database = openGatewayFile(file)
  t.teardown(() => database.close())
  await goesOn(t, embeddedPeaks(database))
})

t.test('texts in Redis are those of former versions, and take no more', async (t) => {
  const { url, client } = await startRedis(t)
  const options = { prefix: 'peaks:', timeoutMs: 5_000 }
  const store = redisPeaks({ ...options, connection: await connectionTo(t, { url }) })
  await store.add({ by: 'g1', number: 1, lines: [peak(quota, { day })] })
  const [hash = ''] = await client.keys('peaks:*')
  await client.hset(hash, quota, `${day};5 50;;4 40 6 1`)
  await goesOn(t, store)
  t.equal(await client.hget(hash, quota), `${day};5 60;;4 40 6 1`)
  t.equal(await client.hget(hash, `month ${quota}`), `${day};600 1`)
  t.equal(await client.hget(hash, `hour ${quota}`), null)
})
