import t from 'tap'
import { runCommand } from '../../support/command.ts'
import type { Gateway } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { startOnOneStore } from '../../support/one-store.ts'
import { statusAndRate } from '../../support/rates.ts'
import { until as untilTrue } from '../../support/until.ts'

const noon = Date.UTC(2026, 5, 15, 12)
const day = 86_400_000

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`temporary limits end at their instant, on every gateway: ${kind}`, async (t) => {
    const untilMs = noon + 90_500
    let now = untilMs - 30_000
    const { gateway, ask, all } = await startOnOneStore(t, kind, () => now)
    const { key, headers } = await gateway.key({ name: 'Acme' })
    const path = `/admin/keys/${key.id}`
    const until = new Date(untilMs).toISOString()
    const get = (at: Gateway, path = '/v1/pets') => at.call('GET', path, undefined, headers)
    const quotas = () => Promise.all(all.map(async (each) => json(await get(each, '/v1/quota'))))
    t.match(
      await quotas(),
      all.map(() => ({ minute: { limit: 60 } })),
    )
    const changed = json(await ask('PATCH', path, { limits: { perMinute: 600, until } }))
    t.match(changed, {
      plan: 'free',
      limits: { perMinute: 600, until },
      afterwards: { plan: 'free', limits: null },
      standing: { minute: { limit: 600 }, day: { limit: 1000 } },
    })
    t.notOk('until' in changed, 'its plan has no end')
    for (const each of all) {
      await untilTrue(async () => (await get(each)).headers['x-ratelimit-limit'] === '600')
    }
    const left = async (): Promise<number> => {
      const { minute } = json(await get(gateway, '/v1/quota'))
      return (minute as { remaining: number }).remaining
    }
    // More than the 60 of afterwards.
    for (let i = (await left()) - 535; i > 0; i--) await get(all[i % all.length] ?? gateway)
    t.equal(await left(), 535)
    // A gateway's idea of Redis' time goes on between two answers, so the fleet has no last millisecond.
    now = untilMs - (kind === 'embedded' ? 1 : 10_000)
    t.match(
      await quotas(),
      all.map(() => ({ minute: { limit: 600 } })),
    )
    t.match(statusAndRate(await get(gateway)), { status: 200, limit: 600, remaining: 534 })
    const ends = () => Promise.all(all.map(({ stores }) => stores.audit.list(reverts)))
    t.strictSame(
      await ends(),
      all.map(() => []),
    )
    now = untilMs
    await quotas()
    for (const each of all) {
      t.match(
        statusAndRate(await get(each)),
        { status: 429, limit: 60, remaining: 0 },
        'counts are kept',
      )
    }
    t.match(
      await quotas(),
      all.map(() => ({ minute: { limit: 60, remaining: 0 } })),
    )
    now = noon + 120_000
    await quotas()
    t.match(statusAndRate(await get(gateway)), { status: 200, limit: 60, remaining: 59 })
    const ended = json(await ask('GET', path))
    t.match(ended, { standing: { minute: { limit: 60 } } })
    t.notOk('limits' in ended || 'afterwards' in ended)
    const end = { by: 'gateway', what: 'keys.revert', subject: key.id }
    const change = { before: { limits: { perMinute: 600 } }, after: {} }
    t.strictSame(
      await ends(),
      all.map(() => [{ atMs: untilMs, ...end, ...change }]),
      'the end is in the audit once, whoever is asked',
    )
    const { lines } = json(await ask('GET', `${path}/timeline?from=2026-01-01`)) as {
      lines: object[]
    }
    t.match(lines.at(-1), { at: until, by: 'gateway', what: 'keys.revert', ...change })
  })
}

/** Asks an audit for the ends of temporary settings. */
const reverts = { fromMs: 0, limit: 100, what: 'keys.revert' }

t.test('a temporary plan ends for limits, bans and the backend at once', async (t) => {
  let now = noon
  const { gateway, ask } = await startOnOneStore(t, 'embedded', () => now)
  const { key, headers } = await gateway.key({ limits: { perDay: 50 } })
  const get = () => gateway.call('GET', '/v1/pets', undefined, headers)
  const path = `/admin/keys/${key.id}`
  const plan = () => gateway.upstream.seen.at(-1)?.headers['x-caller-plan']
  const until = new Date(noon + day).toISOString()
  await get()
  t.equal(plan(), 'free')
  const changed = json(await ask('PATCH', path, { plan: 'pro', until }))
  t.match(changed, {
    ...{ plan: 'pro', until, limits: { perDay: 50 } },
    afterwards: { plan: 'free', limits: { perDay: 50 } },
    standing: { minute: { limit: 300 }, day: { limit: 50 } },
  })
  t.match(statusAndRate(await get()), { limit: 50, remaining: 48 })
  t.equal(plan(), 'pro')
  now = noon + day - 1
  await get()
  t.equal(plan(), 'pro')
  now++
  await get()
  t.equal(plan(), 'free')

  await t.test('each with an end of its own, and a change for good in its place', async (t) => {
    const patch = async (body: object) => json(await ask('PATCH', path, body))
    const at = (hours: number) => new Date(now + hours * 3_600_000).toISOString()
    await patch({
      plan: 'pro',
      until: at(2),
      limits: { perMinute: 600, perDay: 700, until: at(1) },
    })
    t.match(json(await ask('GET', path)), {
      ...{ plan: 'pro', until: at(2), limits: { perMinute: 600, perDay: 700, until: at(1) } },
      afterwards: { plan: 'free', limits: { perDay: 50 } },
    })
    t.match(await patch({ limits: { perMinute: 90 } }), {
      limits: { perMinute: 90, perDay: 700, until: at(1) },
      afterwards: { limits: { perMinute: 90, perDay: 50 } },
    })
    const own = await patch({ limits: { until: null } })
    t.strictSame(own['limits'], { perMinute: 90, perDay: 50 }, 'ended at once')
    t.equal(own['plan'], 'pro')
    const free = await patch({ until: null })
    t.equal(free['plan'], 'free')
    t.notOk('until' in free || 'afterwards' in free)
    await patch({ plan: 'pro', until: at(1) })
    const pro = await patch({ plan: 'pro' })
    t.notOk('until' in pro, 'a change without an end is for good')
    await patch({ limits: { perMinute: 70 }, until: at(1) })
    t.strictSame((await patch({ limits: null }))['limits'], undefined, 'all of them gone')
  })

  await t.test('the audit has the ends that came, and no other', async (t) => {
    const patch = async (body: object) => json(await ask('PATCH', path, body))
    const at = (hours: number) => new Date(now + hours * 3_600_000).toISOString()
    const [early, late, last] = [at(1), at(2), at(4)]
    await patch({ plan: 'free' })
    await patch({ plan: 'pro', until: late, limits: { perMinute: 600, until: early } })
    const other = (await gateway.key({ name: 'Gone' })).key.id
    await ask('PATCH', `/admin/keys/${other}`, { limits: { perDay: 7 }, until: early })
    await ask('POST', `/admin/keys/${other}/revoke`)
    now += 1.5 * 3_600_000
    await patch({ note: 'changed between both ends' })
    now += 3_600_000
    await patch({ plan: 'pro', limits: { perMinute: 9 }, until: last })
    now += 24 * 3_600_000
    const audit = async (query: string) =>
      json(await ask('GET', `/admin/audit?${query}`)) as unknown as {
        at: string
        what: string
        before: object
        after: object
      }[]
    const all = await audit('limit=100')
    const times = all.map((line) => line.at)
    t.strictSame(times, [...times].sort().reverse(), 'the newest first')
    t.strictSame(
      all.filter(({ what }) => what === 'keys.revert').map((line) => [line.at, line.before]),
      [
        [last, { plan: 'pro', limits: { perMinute: 9 } }],
        [late, { plan: 'pro' }],
        [early, { limits: { perMinute: 600 } }],
        [until, { plan: 'pro' }],
      ],
    )
    t.match(await audit('limit=1'), [{ at: last, what: 'keys.revert', after: { plan: 'free' } }])
    t.strictSame(await audit(`key=${key.id}&limit=100`), all.filter(isOf(key.id)))
    t.strictSame(
      (await audit('days=1&limit=100')).map(({ at }) => at),
      times.filter((each) => each.slice(0, 10) === new Date(now).toISOString().slice(0, 10)),
      'an end is in its day, wherever its line is',
    )
  })
})

function isOf(id: string) {
  return (line: object): boolean => 'subject' in line && line.subject === id
}

t.test('an end that can’t be gets a sentence and changes nothing', async (t) => {
  const { gateway, ask, file } = await startOnOneStore(t, 'embedded', Date.now)
  const later = (days: number) => new Date(Date.now() + days * day).toISOString()
  const { key } = await gateway.key({ name: 'Acme', expiresAtMs: Date.now() + 5 * day })
  const path = `/admin/keys/${key.id}`
  // Its minute may end meanwhile.
  const shown = async () => ({ ...json(await ask('GET', path)), standing: undefined })
  const before = await shown()
  for (const [body, sentence] of [
    [{ limits: { perMinute: 5, until: later(-1) } }, /end .* is in the past/],
    [{ plan: 'pro', until: later(-1) }, /end .* is in the past/],
    [{ limits: { perMinute: 5 }, until: later(6) }, /never comes: the key expires before it/],
    [{ plan: 'pro', until: later(6) }, /never comes: the key expires before it/],
    [{ until: later(1) }, /an end \(until\) needs a plan or a limit/i],
    [{ note: 'x', until: later(1) }, /an end \(until\) needs a plan or a limit/i],
    [{ plan: 'pro', limits: { until: later(1) } }, /end of limits needs a limit/],
    [{ limits: { perMinute: null }, until: later(1) }, /an end \(until\) needs a plan or a limit/i],
    [{ limits: { perMinute: null, perDay: 5, until: later(1) } }, /needs a value/],
    [{ plan: 'none', until: later(1) }, /There is no plan "none"/],
    [{ plan: 'custom', until: later(1) }, /"custom" is custom: its keys need both/],
    [
      { plan: 'custom', until: later(2), limits: { perMinute: 5, perDay: 9, until: later(1) } },
      /custom/,
    ],
    [{ plan: 'pro', until: 'Monday' }, /until must be a day such as/],
  ] as const) {
    const answer = await ask('PATCH', path, body)
    t.equal(answer.status, 400)
    t.match(json(answer), { message: sentence }, JSON.stringify(body))
  }
  t.strictSame(await shown(), before)
  const limits = { perMinute: 5, perDay: 9 }
  const both = { plan: 'custom', limits, until: later(1) }
  t.match(await ask('PATCH', path, both), { status: 200 }, 'limits come and go with the plan')
  t.match(json(await ask('GET', path)), { plan: 'custom', limits, afterwards: { limits: null } })

  const run = (...args: string[]) => runCommand([...args, '--config', file], {})
  await ask('PATCH', path, { until: null })
  t.match(await run('keys', 'change', 'Acme', '--until', later(1)), {
    code: 2,
    out: /an end \(until\) needs/,
  })
  t.match(await run('keys', 'list', '--temporary'), { out: 'No key matches.' })
  const set = await run('keys', 'change', 'Acme', '--per-minute', '600', '--until', later(1))
  t.match(set, {
    code: 0,
    out: /Its limits are now 600 a minute.*\nIt has temporary settings: custom limits/,
  })
  await gateway.key({ name: 'Other' })
  const list = await run('keys', 'list', '--temporary')
  t.match(list, { code: 0, out: /UNTIL.*\n.*Acme .*600 a minute +20/ })
  t.notMatch(list.out, 'Other')
  const listed = json(await ask('GET', '/admin/keys?temporary=true&limit=5'))
  t.match(listed, {
    keys: [{ name: 'Acme', limits: { perMinute: 600, until: later(1).slice(0, 13) } }],
  })
  t.equal((listed['keys'] as unknown[]).length, 1)
  const forAnHour = await run('keys', 'change', 'Acme', '--per-minute', '600', '--until', '1h')
  t.match(forAnHour, { code: 0, out: /custom limits until 20\S+ \S+Z \(in 1 h\), then/ })
  t.match(json(await ask('PATCH', path, { plan: 'pro', until: '2d' })), { until: /Z$/ })
  t.match((await run('keys', 'change', 'Acme', '--until', '0d')).out, /--until must be a day such/)
  t.match(await run('keys', 'change', 'Acme', '--no-until'), { code: 0 })
  t.match(await run('keys', 'list', '--temporary'), { out: 'No key matches.' })
  const audit = await ask('GET', `/admin/audit?key=${key.id}`)
  t.match(
    audit.text,
    /"after":\{[^}]*"limits":\{"perMinute":600,"until":"/,
    'the audit has the end',
  )
})
