import t from 'tap'
import { dayMs } from '../../../shared/windows.ts'
import { newKey } from '../../contracts/keys.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { peak } from '../../support/filled-store.ts'
import { json } from '../../support/http.ts'
import { startRedis } from '../../support/redis.ts'

const more = `plans:
  free: { perMinute: 60, perDay: 1000 }
  pro: { perMinute: 300, perDay: 10000, perMonth: 50000 }
  own: custom
  empty: { perMinute: 1, perDay: 1 }`

for (const kind of ['embedded', 'redis'] as const) {
  t.test(
    `${kind}: of each plan its keys, its quotas near a limit and its requests are told`,
    async (t) => {
      const redis = kind === 'redis' ? await startRedis(t) : undefined
      const store = redis && { store: `redis: "${redis.url}"` }
      const { gateway, ask, file } = await startAdmin(t, { thread: {}, more, ...store })
      const { keys: store_, tallies, peaks } = gateway.stores
      const nowMs = Date.now()
      const day = Math.floor(nowMs / dayMs)
      const own = { perMinute: 10, perDay: 'unlimited' } as const
      const [one, two, raised, big, custom, gone, revoked] = [
        newKey({ plan: 'free', account: 'acme' }),
        newKey({ plan: 'free', account: 'acme', disabled: true, limits: { perMinute: 40 } }),
        newKey({ plan: 'pro' }),
        newKey({ plan: 'pro' }),
        newKey({ plan: 'own', limits: own }),
        newKey({ plan: 'gone' }),
        newKey({ plan: 'free', revokedAtMs: nowMs }),
      ]
      await store_.add([one, two, raised, big, custom, gone, revoked])
      const used = (key: string, what: string, count: number) => {
        return { day, key, what, count, lastMs: 0 }
      }
      const lines = [
        used(one.id, 'admitted 2xx', 7),
        used(two.id, 'refused key_disabled', 2),
        used(revoked.id, 'admitted 4xx', 1),
        used(gone.id, 'refused plan_not_offered', 4),
        { ...used(big.id, 'admitted 2xx', 9), day: day - 1 },
      ]
      await tallies.add({ by: 'test', number: 1, lines })
      const highest = [
        // By the lower limit of both keys.
        peak('account:acme', { day, most: { minute: 32, day: 32 } }),
        peak(`key:${raised.id}`, { day, most: { minute: 59, day: 999 } }),
        peak(`key:${big.id}`, { day, most: { minute: 239, day: 7_999, month: 40_000 } }),
        peak(`key:${custom.id}`, { day, most: { minute: 8, day: 8 } }),
        peak(`key:${gone.id}`, { day, most: { minute: 8, day: 8 } }),
        peak(`key:${one.id}`, { day: day - 1, most: { minute: 60, day: 60 } }),
      ]
      await peaks.add({ by: 'test', number: 1, lines: highest })

      const none = { keys: 0, near: 0, admittedToday: 0, refusedToday: 0 }
      const answer = await ask('GET', '/admin/plans')
      t.strictSame(json(answer), [
        {
          ...{ name: 'free', limits: { perMinute: 60, perDay: 1_000 } },
          ...{ keys: 2, near: 1, admittedToday: 8, refusedToday: 2 },
        },
        {
          ...{ name: 'pro', limits: { perMinute: 300, perDay: 10_000, perMonth: 50_000 } },
          ...{ ...none, keys: 2, near: 1 },
        },
        { ...none, name: 'own', limits: 'custom', keys: 1, near: 1 },
        { ...none, name: 'empty', limits: { perMinute: 1, perDay: 1 } },
        { ...none, name: 'gone', limits: null, keys: 1, refusedToday: 4 },
      ])
      const run = async (...words: string[]) =>
        (await runCommand(['plans', 'list', ...words, '--config', file], {})).stdout
      t.equal(JSON.stringify(JSON.parse(await run('--json'))), answer.text)
      t.match(await run(), /^free +60 a minute, 1,000 a day +2 +1 +8 +2$/m)
      t.match(await run(), /^gone +not in the configuration +1 +0 +0 +4$/m)
    },
  )
}

t.test('a limit that meters is told in one way, and kept by a preview of others', async (t) => {
  const metered = { limit: 300, beyond: 'meter', upTo: '300%' } as const
  const more = `plans: { pro: { perMinute: 60, perDay: ${JSON.stringify(metered)} } }`
  const { ask, file, gateway } = await startAdmin(t, { thread: {}, more })
  const { key } = await gateway.key({ plan: 'pro', limits: { perDay: { ...metered, limit: 50 } } })
  const run = async (...words: string[]) =>
    (await runCommand([...words, '--config', file], {})).stdout
  const limits = { perMinute: 60, perDay: metered }
  t.match(json(await ask('GET', '/admin/plans')), [{ name: 'pro', limits }])
  t.match(await run('plans', 'list'), /^pro +60 a minute, 300 included, metered up to 900 a day /m)
  t.match(await run('keys', 'list'), /50 included, metered up to 150 a day/)
  t.match(
    await run('keys', 'show', key.id),
    /^day: +0 of 50 included, metered up to 150 \(its own/m,
  )
  t.match(await run('quota', 'show', key.id), /^day +50 included, metered up to 150 +0 +150 /m)

  const preview = async (body: object) =>
    json(await ask('POST', '/admin/plans/pro/preview', JSON.stringify(body)))
  t.match(await preview({ perMinute: 40 }), { now: limits, then: { ...limits, perMinute: 40 } })
  const raised = { ...metered, limit: 400 }
  t.match(await preview({ perDay: raised }), { then: { perMinute: 60, perDay: raised } })
  t.match(
    await run('plans', 'preview', 'pro', '--per-day', '400..300%'),
    /^pro 300 included, metered up to 900 → 400 included, metered up to 1,200 a day: /,
  )
})
