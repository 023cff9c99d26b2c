import t from 'tap'
import type { Usage } from '../../../gateway/front/counts/usage.ts'
import type { Snapshot } from '../../../gateway/office/live/snapshot.ts'
import { byLimit, windows } from '../../../shared/windows.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { json } from '../../support/http.ts'
import { token } from '../../support/operator.ts'
import { until } from '../../support/until.ts'

t.test('refusals are told by each window that refuses, live and as usage', async (t) => {
  const nowMs = Date.now()
  const { gateway, ask, url, file, write } = await startAdmin(t, { clock: () => nowMs })
  const unlimited = byLimit(() => 'unlimited' as const)
  const keys = new Map<string, string>()
  for (const { name, limit } of windows) {
    const { key, headers } = await gateway.key({ name, limits: { ...unlimited, [limit]: 1 } })
    keys.set(name, key.id)
    for (let i = 0; i < 2; i++) await gateway.call('GET', '/v1/pets', undefined, headers)
  }
  const snapshot = async (): Promise<Snapshot> => json(await ask('GET', '/admin/live')) as Snapshot
  await until(async () => (await snapshot()).lastMinute.requests === 2 * windows.length)
  const { lastMinute, refusedKeys, refusals } = await snapshot()
  const usages = JSON.parse((await ask('GET', '/admin/usage')).text) as Usage[]
  const required = windows.filter(({ isRequired }) => isRequired).map(({ name }) => [name, 0])
  for (const { name } of windows) {
    t.equal(lastMinute[name], 1, name)
    t.ok(refusedKeys.some(({ key, window }) => key === keys.get(name) && window === name))
    t.ok(refusals.some(({ window }) => window === name))
    const told = usages.find(({ key }) => key === keys.get(name))
    t.strictSame(told?.windows, { ...Object.fromEntries(required), [name]: 1 })
  }
  write((text) =>
    text.replace(/^admin: .*$/m, `admin: { host: 127.0.0.1, port: ${new URL(url).port} }`),
  )
  const run = (...args: string[]) => runCommand([...args, '--config', file], { ADMIN_TOKEN: token })
  const { stdout: now } = await run('now')
  const { stdout: used } = await run('usage')
  for (const { name } of windows) {
    t.match(now, new RegExp(`refused: ${name} +1\n`))
    t.match(used, `1 rate_limit_exceeded (1 ${name})`)
  }
})
