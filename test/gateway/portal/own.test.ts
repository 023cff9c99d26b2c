import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../../support/command.ts'
import { configFor } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { hourMs, noon, start } from '../../support/portal.ts'
import { startRedis } from '../../support/redis.ts'
import { folderOf } from '../../support/folder.ts'

/** A line of `tollgate usage`. */
type Day = Readonly<{ key: string; name: string; admitted: number; points: number }>

const threeHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']

for (const place of ['SQLite', 'Redis']) {
  t.test(`usage is that of "tollgate usage KEY": ${place}`, async (t) => {
    const folder = folderOf(t)
    const store =
      place === 'Redis'
        ? `redis: "${(await startRedis(t)).url}"`
        : `file: ${join(folder, 'gateway.db')}`
    const more =
      'deprecations: [ { operation: GET /v1/old, since: 2026-01-01, sunset: 2099-01-01 } ]'
    const { gateway, time, ask } = await start(t, {
      store,
      more,
      routes:
        '[ { path: /v1/dear, upstream: animals, cost: 5 }, { path: /v1/*, upstream: animals } ]',
    })
    time.nowMs = Date.now()
    const { key, headers } = await gateway.key({ account: 'acme', limits: { perMinute: 12 } })
    const other = await gateway.key({ account: 'acme', name: 'Other', limits: { perMinute: 12 } })
    for (const path of ['/v1/x', '/v1/dear', '/v1/old']) await ask(path, headers)
    const trial = await gateway.key({ account: 'acme', name: 'Trial', test: true })
    for (let i = 0; i < 3; i++) await ask('/v1/x', trial.headers)
    await ask('/v1/x', other.headers)
    for (let i = 0; i < 30; i++) await ask('/v1/dear', other.headers)
    time.nowMs -= 24 * hourMs
    await ask('/v1/old', headers)
    time.nowMs += 24 * hourMs
    await gateway.app.front.flushCounts()

    const { status, text, headers: told } = await ask('/v1/usage?days=90', headers)
    t.equal(status, 200)
    t.equal(told['cache-control'], 'no-store')
    for (const name of threeHeaders) t.ok(told[name], name)
    const seen = json(text) as {
      key: string
      days: object[]
      deprecated: object[]
    }
    const file = join(folder, 'config.yaml')
    writeFileSync(file, configFor(gateway.upstream.url, store, { more }))
    const { stdout } = await runCommand(['usage', key.id, '--json', '--config', file], {})
    const days = JSON.parse(stdout) as Day[]
    t.equal(seen.key, key.id)
    t.equal(days.length, 2)
    const whose = { key: key.id, name: key.name }
    const named = seen.days.map((day) => ({ ...whose, ...day }))
    t.strictSame(named, days)
    t.match(days, [{ admitted: 1 }, { admitted: 3, points: 7 }], 'not those of its account')
    t.match(json((await ask('/v1/usage', trial.headers)).text), { days: [{ admitted: 3 }] })
    t.match(seen.deprecated, [
      { operation: 'GET /v1/old', calls: 2, sunset: '2099-01-01T00:00:00.000Z', replacement: null },
    ])
  })
}

t.test('usage can be asked for once a second, which is no strike, and costs nothing', async (t) => {
  const { gateway, time, ask } = await start(t, { more: 'bans: { strikes: 1, grace: 0s }' })
  const { headers } = await gateway.key()
  const mate = await gateway.key({ name: 'Mate' })
  t.equal((await ask('/v1/usage', headers)).status, 200)
  for (const passedMs of [0, 500, 499]) {
    time.nowMs += passedMs
    const { status, headers: told, text } = await ask('/v1/usage', headers)
    t.equal(status, 429, `${passedMs} ms later`)
    t.equal(told['retry-after'], '1')
    t.match(json(text), { code: 'rate_limit_exceeded', status: 429 })
    t.equal(told['x-ratelimit-remaining'], '60')
  }
  t.equal((await ask('/v1/usage', mate.headers)).status, 200, 'another key has its own second')
  time.nowMs += 1
  t.equal((await ask('/v1/usage', headers)).status, 200, 'a second after the last answer')
  t.match(json((await ask('/v1/quota', headers)).text), {
    minute: { remaining: 60 },
    strikes: 0,
    bannedUntil: null,
  })
  for (const query of ['?days=0', '?days=91', '?days=x', '?month=1']) {
    t.equal((await ask(`/v1/usage${query}`, headers)).status, 400, query)
  }
  t.equal((await ask('/v1/usage')).status, 401)
  t.match(await gateway.call('POST', '/v1/usage', '{}', headers), {
    status: 405,
    headers: { allow: 'GET, HEAD' },
  })
  t.equal(gateway.upstream.seen.length, 0, 'the route /v1/* swallows none of it')
  const restricted = await gateway.key({ name: 'Narrow', paths: ['/v1/pets'] })
  t.equal((await ask('/v1/usage', restricted.headers)).status, 200, 'a restricted key sees its own')
  const { key, headers: theirs } = await gateway.key({ name: 'Banned' })
  await gateway.stores.quota.ban(`key:${key.id}`, key.id, noon + hourMs)
  t.equal((await ask('/v1/usage', theirs)).status, 200, 'so does a banned one')
})
