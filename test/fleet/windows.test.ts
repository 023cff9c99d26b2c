import { execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { configFor, startUpstream } from '../support/gateway.ts'
import { caller, json } from '../support/http.ts'
import { token } from '../support/operator.ts'
import { adminOf, root, startProcess } from '../support/process.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { folderOf } from '../support/folder.ts'

/** Windows of two weeks begin three days before others of this length. */
const [fortnight, offset] = [14 * 86_400, 3 * 86_400]

/** The sources with one more row in the list of windows: a fortnight, between week and month. */
function sourcesWithFortnight(t: Test): string {
  const folder = folderOf(t)
  for (const name of ['gateway', 'shared', 'config', 'package.json']) {
    cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  const list = join(folder, 'shared/windows.ts')
  const row = `{ name: 'fortnight', lengthMs: 14 * dayMs, firstMs: -3 * dayMs, comesBack: true, begins: 'on Monday' },`
  const rows = readFileSync(list, 'utf8').replace(/(?=\{ name: 'month',)/, `${row}\n  `)
  t.ok(rows.includes(row))
  writeFileSync(list, rows)
  return folder
}

t.test('a window is one row', async (t) => {
  const folder = sourcesWithFortnight(t)
  const upstream = await startUpstream(t)
  const redis = await startRedis(t)
  const [gateway, command] = ['gateway/main.ts', 'gateway/office/cli/main.ts'].map((file) =>
    join(folder, file),
  )
  if (gateway === undefined || command === undefined) return
  const node = { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: join(folder, 'compiled') }
  for (const [kind, store] of Object.entries({
    embedded: `file: ${join(folder, 'gateway.db')}`,
    redis: `redis: "${redis.url}"`,
  })) {
    await t.test(kind, async (t) => {
      const file = join(folder, `${kind}.yaml`)
      const more = `plans: { free: { perMinute: 60, perDay: 1000, perFortnight: 3, bans: off } }
headers: { ietf: true }`
      writeFileSync(file, configFor(upstream.url, store, { more }))
      const run = async (...args: string[]): Promise<string> => {
        const options = { env: { ...node, TOLLGATE_BY: 'eve' } }
        const all = [command, ...args, '--config', file]
        return (await promisify(execFile)(process.execPath, all, options)).stdout
      }
      const env = { ...node, TOLLGATE_CONFIG: file, ADMIN_TOKEN: token, LOG_LEVEL: 'info' }
      const service = startProcess(t, relative(root, gateway), { env })
      const call = caller(await service.url)
      const operate = caller(await adminOf(service))
      const made = JSON.parse(
        await run('keys', 'create', '--name', 'Acme', '--plan', 'free', '--json'),
      ) as { id: string; key: string }
      const headers = { authorization: `Bearer ${made.key}` }
      const get = () => call('GET', '/v1/pets', undefined, headers)
      const reset = (Math.floor((Date.now() / 1_000 + offset) / fortnight) + 1) * fortnight - offset
      const quota = async () => json(await call('GET', '/v1/quota', undefined, headers))

      const first = await get()
      t.match(first, { status: 200, headers: { 'x-ratelimit-limit': '3' } })
      t.equal(first.headers['x-ratelimit-reset'], `${reset}`)
      t.match(first.headers['ratelimit'], /^"fortnight";r=2;t=\d+$/)
      t.equal(
        first.headers['ratelimit-policy'],
        '"minute";q=60;w=60, "day";q=1000;w=86400, "fortnight";q=3;w=1209600',
      )
      for (let i = 0; i < 2; i++) t.equal((await get()).status, 200)
      t.match(await quota(), {
        fortnight: { limit: 3, remaining: 0, reset },
        day: { limit: 1000, remaining: 997 },
        notice: { window: 'fortnight', used: 100 },
      })
      const refused = await get()
      t.match(json(refused), { status: 429, message: /3 requests a fortnight are used up/ })
      t.equal(refused.headers['x-ratelimit-notice'], 'fortnight; used=100')
      await until(() => /"window":"fortnight"/.test(service.output()))
      const metrics = (await operate('GET', '/metrics')).text
      t.match(
        metrics,
        /refusals_total\{plan="free",reason="rate_limit_exceeded",window="fortnight"[^}]*\} 1/,
      )
      await until(async () =>
        /is refused until .* 3 of 3 this fortnight/.test(await run('explain', 'Acme')),
      )

      await run('quota', 'grant', 'Acme', '--fortnight', '2')
      await until(async () => (await get()).status === 200)
      t.match(await quota(), { fortnight: { limit: 5, remaining: 1 } })
      // An embedded gateway writes its counters down a little later.
      await until(async () => /fortnight +5 +4 +1 /.test(await run('quota', 'show', 'Acme')))
      t.match(await run('quota', 'show', 'Acme'), /GRANTED.*FORTNIGHT/)
      await run('keys', 'change', 'Acme', '--per-fortnight', '4')
      await until(async () => JSON.stringify(await quota()).includes('"limit":6'))
      t.match(
        await run('keys', 'show', 'Acme'),
        /fortnight: +4 of 6 used \(its own limit: 4 \+ 2 granted/,
      )
      await run('quota', 'reset', 'Acme')
      await until(async () => JSON.stringify(await quota()).includes('"remaining":6'))
    })
  }
})
