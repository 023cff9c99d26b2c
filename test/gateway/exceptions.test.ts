import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Plan } from '../../gateway/limits/limits.ts'
import { madePrivate, variedBy } from '../../gateway/http/caching.ts'
import { desksFor } from '../../gateway/operations/desks.ts'
import { startAdmin } from '../support/admin.ts'
import { runCommand } from '../support/command.ts'
import { startGateway, startUpstream, type Gateway } from '../support/gateway.ts'
import { json, type Answer } from '../support/http.ts'
import { startRedis } from '../support/redis.ts'
import { until as untilTrue } from '../support/until.ts'

const noon = Date.UTC(2026, 5, 15, 12)

t.test('plan and key must both allow an operation, and a 403 costs nothing', async (t) => {
  const { call, key, app, config } = await startGateway(t, {
    clock: () => noon,
    more: `
plans:
  all: { perMinute: 600, perDay: 1000 }
  readers: { perMinute: 600, perDay: 1000, methods: [ GET ] }
  pets: { perMinute: 600, perDay: 1000, paths: [ /v1/pets, '/v1/pets/*' ] }
  both: { limits: custom, methods: [ GET, POST ], paths: [ '/v1/pets/{petId}' ] }
`,
  })
  type Rule = Readonly<{ methods?: readonly string[]; paths?: readonly string[] }>
  const ofPlans: Readonly<Record<string, Rule>> = {
    all: {},
    readers: { methods: ['GET', 'HEAD'] },
    pets: { paths: ['/v1/pets', '/v1/pets/*'] },
    both: { methods: ['GET', 'HEAD', 'POST'], paths: ['/v1/pets/{petId}'] },
  }
  const ofKeys: readonly Rule[] = [
    {},
    { methods: ['GET'] },
    { paths: ['/v1/pets/1', '/v1/store'] },
    { methods: ['POST'], paths: ['/v1/pets/*'] },
  ]
  /** The patterns of these tables, written out for these paths. */
  const pathsOf: Readonly<Record<string, readonly string[]>> = {
    '/v1/pets': ['/v1/pets'],
    '/v1/pets/*': ['/v1/pets/1', '/v1/pets/1/x', '/v1/pets/'],
    '/v1/pets/{petId}': ['/v1/pets/1'],
    '/v1/pets/1': ['/v1/pets/1'],
    '/v1/store': ['/v1/store'],
  }
  const paths = ['/v1/pets', '/v1/pets/', '/v1/pets/1', '/v1/pets/1/x', '/v1/store', '/v1/petshop']
  const allows = ({ methods, paths: patterns }: Rule, method: string, path: string): boolean =>
    (methods?.includes(method) ?? true) &&
    (patterns?.some((each) => pathsOf[each]?.includes(path)) ?? true)
  for (const [plan, ofPlan] of Object.entries(ofPlans)) {
    for (const ofKey of ofKeys) {
      const { headers } = await key({ plan, ...ofKey, limits: { perMinute: 600, perDay: 1000 } })
      let admitted = 0
      for (const path of paths) {
        for (const method of ['GET', 'HEAD', 'POST']) {
          const answer = await call(method, path, undefined, headers)
          const byPlan = allows(ofPlan, method, path)
          const isAllowed = byPlan && allows(ofKey, method, path)
          const name = `${plan} ${JSON.stringify(ofKey)} ${method} ${path}`
          if (isAllowed) admitted++
          if (answer.status !== (isAllowed ? 200 : 403)) t.fail(name)
          if (isAllowed || method === 'HEAD') continue
          const sentence = byPlan
            ? 'Your key is not for this operation: it is restricted to other methods or paths.'
            : "Your plan doesn't include this operation."
          t.strictSame(json(answer), { code: 'forbidden', message: sentence, status: 403 }, name)
        }
      }
      const standing = json(await call('GET', '/v1/quota', undefined, headers))
      t.match(standing, { day: { remaining: 1000 - admitted } }, 'what is forbidden is free')
    }
  }

  const { headers } = await key({ plan: 'readers' })
  const post = async () => (await call('POST', '/v1/pets', undefined, headers)).status
  t.equal(await post(), 403)
  const before = config.plans.get('readers')
  const wider: Plan = { name: 'readers', bans: true, limits: before?.limits ?? 'custom' }
  await app.change({ ...config, plans: new Map(config.plans).set('readers', wider) })
  t.equal(await post(), 200, 'a reload acts on the next request')
  await app.change(config)
  t.equal(await post(), 403)
})

const day = 86_400_000

/** An operation past its sunset on the 10th of June, at noon of the 15th. */
const retired = `deprecations:
  - operation: GET /v1/pets/{petId}
    since: 2025-12-05
    sunset: 2026-06-10
    brownouts: [ { from: "2026-06-16T12:00:00Z", to: "2026-06-16T13:00:00Z" } ]
    extensions:
      - { key: KEY, until: 2026-06-20 }
      - { account: acme, until: "2026-06-18T08:00:00Z", spare: true }
`

t.test('an extended sunset is that caller’s alone, to the millisecond', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    response.writeHead(200, { 'cache-control': 'public, max-age=60, s-maxage=600', vary: 'Accept' })
    response.end('{}')
  })
  let now = noon
  const { call, key, app, config } = await startGateway(t, {
    upstream,
    clock: () => now,
    more: retired,
  })
  const [one, other] = [await key(), await key()]
  const [first, second] = [
    await key({ account: 'acme' }),
    await key({ account: 'acme', test: true }),
  ]
  /** The key has an extension of its own and one by its account: its own counts. */
  const [operation] = config.deprecations
  const both = await key({ account: 'acme' })
  if (!operation) throw new Error('there is one')
  const [, ofAccount] = operation.extensions
  const own = [one, both].map(({ key }) => ({
    key: key.id,
    untilMs: Date.UTC(2026, 5, 20),
    spare: false,
  }))
  const extensions = [...own, ...(ofAccount ? [ofAccount] : [])]
  await app.change({ ...config, deprecations: [{ ...operation, extensions }] })
  const get = (who: typeof one | undefined, method = 'GET') =>
    call(method, '/v1/pets/1', undefined, who?.headers)
  const statuses = async () => {
    const answers = await Promise.all([one, both, first, second, other].map((who) => get(who)))
    return answers.map(({ status }) => status)
  }
  const sunsets = {
    usual: 'Wed, 10 Jun 2026 00:00:00 GMT',
    own: 'Sat, 20 Jun 2026 00:00:00 GMT',
    account: 'Thu, 18 Jun 2026 08:00:00 GMT',
  }
  t.strictSame(await statuses(), [200, 200, 200, 200, 410])
  for (const method of ['GET', 'HEAD']) {
    for (const [who, status, sunset] of [
      [one, 200, sunsets.own],
      [both, 200, sunsets.own],
      [first, 200, sunsets.account],
      [second, 200, sunsets.account],
      [other, 410, sunsets.usual],
      [undefined, 401, sunsets.usual],
    ] as const) {
      const { headers, ...answer } = await get(who, method)
      t.match(answer, { status }, method)
      t.equal(headers['sunset'], sunset)
      t.equal(headers['deprecation'], '@1764892800')
      t.equal(headers['vary'], status === 200 ? 'Accept, Authorization' : 'Authorization')
      const caching = status === 200 ? 'private, max-age=60' : 'no-store'
      t.equal(headers['cache-control'], caching, 'no shared cache keeps it')
    }
  }
  const elsewhere = await call('GET', '/v1/pets', undefined, one.headers)
  t.match(elsewhere.headers, { vary: 'Accept', 'cache-control': /^public/ }, 'as ever elsewhere')

  now = Date.UTC(2026, 5, 16, 12)
  t.strictSame(await statuses(), [503, 503, 200, 200, 410], 'a brownout hits who isn’t spared')
  t.equal((await get(one)).headers['sunset'], sunsets.own)
  now = Date.UTC(2026, 5, 18, 8) - 1
  t.strictSame(await statuses(), [200, 200, 200, 200, 410])
  now++
  t.strictSame(await statuses(), [200, 200, 410, 410, 410])
  t.equal((await get(first)).headers['sunset'], sunsets.account)
  now = Date.UTC(2026, 5, 20) - 1
  t.strictSame(await statuses(), [200, 200, 410, 410, 410])
  now++
  t.strictSame(await statuses(), [410, 410, 410, 410, 410])
  await app.change(config)
  t.equal((await get(undefined)).headers['vary'], 'Authorization')
})

t.test('caches hear of callers in every form of their headers', (t) => {
  for (const [before, after] of [
    [undefined, 'private'],
    ['public', 'private'],
    ['Public, max-age=5', 'private, max-age=5'],
    [['max-age=5', 's-maxage = 9'], 'private, max-age=5'],
    ['private="x-a", no-cache', 'private, no-cache'],
    ['no-store', 'no-store'],
    ['public, No-Store', 'No-Store'],
  ] as const) {
    t.equal(madePrivate(typeof before === 'object' ? [...before] : before), after)
  }
  for (const [before, after] of [
    [undefined, 'Origin'],
    ['*', '*'],
    ['Accept,origin', 'Accept,origin'],
    [['Accept', 'X-Origin'], 'Accept, X-Origin, Origin'],
  ] as const) {
    t.equal(variedBy('Origin', typeof before === 'object' ? [...before] : before), after)
  }
  t.end()
})

t.test('the report tells who has an extension, and who should have one', async (t) => {
  let now = noon
  const more = retired.replace(
    'deprecations:',
    `deprecations:
  - { operation: GET /v1/old, since: 2025-12-05, sunset: 2026-07-15 }
  - { operation: GET /v1/older, since: 2025-12-05, sunset: 2026-07-16 }
  - { operation: GET /v1/spared, since: 2025-12-05, sunset: 2026-06-16, afterSunset: serve }
  - { operation: GET /v1/endless, since: 2025-12-05 }`,
  )
  const { gateway, ask, file } = await startAdmin(t, { clock: () => now, more })
  const { call, key } = gateway
  const calls = async (path: string, ...callers: { headers: { authorization: string } }[]) => {
    for (const { headers } of callers) await call('GET', path, undefined, headers)
  }
  const [mine, of] = [await key({ name: 'Mine', account: 'acme' }), await key({ name: 'Other' })]
  await calls('/v1/pets/1', mine, of)
  for (const path of ['old', 'older', 'spared', 'endless']) await calls(`/v1/${path}`, of)
  const report = async () =>
    json(await ask('GET', '/admin/deprecations')) as unknown as Record<string, unknown>[]
  const told = (rows: Record<string, unknown>[]) =>
    rows
      .map(({ name, operation, sunset, extension, needsExtension }) => {
        return [name, operation, sunset, extension, needsExtension]
      })
      .sort((a, b) => String(a).localeCompare(String(b)))
  const at = (text: string) => `${text}:00.000Z`
  t.strictSame(told(await report()), [
    [
      ...['Mine', 'GET /v1/pets/{petId}', at('2026-06-18T08:00')],
      ...[{ until: at('2026-06-18T08:00'), spare: true }, false],
    ],
    ['Other', 'GET /v1/endless', null, null, false],
    ['Other', 'GET /v1/old', at('2026-07-15T00:00'), null, true],
    ['Other', 'GET /v1/older', at('2026-07-16T00:00'), null, false],
    ['Other', 'GET /v1/pets/{petId}', at('2026-06-10T00:00'), null, true],
    ['Other', 'GET /v1/spared', at('2026-06-16T00:00'), null, false],
  ])
  const extended = {
    operation: 'GET /v1/pets/{petId}',
    until: at('2026-06-20T00:00'),
    spare: false,
    ...{ key: 'KEY', name: '', account: null, exists: false, calls: 0, last: null },
  }
  const list = await ask('GET', '/admin/extensions')
  t.strictSame(json(list), [
    extended,
    {
      ...extended,
      ...{ until: at('2026-06-18T08:00'), spare: true },
      ...{ key: null, name: null, account: 'acme', exists: true },
      ...{ calls: 1, last: new Date(noon).toISOString() },
    },
  ])
  now += 31 * day
  const later = await report()
  t.ok(
    later.every(({ needsExtension }) => needsExtension === false),
    'who has called long ago needs none',
  )

  const text = readFileSync(file, 'utf8')
  const yaml = { 'content-type': 'application/yaml' }
  const check = json(await ask('POST', '/admin/config/check', text, yaml))
  const line = text.split('\n').findIndex((each) => each.includes('key: KEY')) + 1
  const sentence = 'deprecations[4].extensions[0].key is the id of no key: KEY'
  t.match(check, { sound: true, warnings: [`body:${line}:16: warning: ${sentence}`] })
  const { code, out } = await runCommand(['config', 'check', '--config', file], {})
  t.equal(code, 0, 'a warning, not a mistake')
  t.match(out, `warning: ${sentence}`)
  const nobody = text.replace('key: KEY', `key: ${of.key.id}`).replace('acme', 'nobody')
  const checked = json(await ask('POST', '/admin/config/check', nobody, yaml))
  t.match(checked, {
    sound: true,
    warnings: [/extensions\[1\]\.account is the account of no key: nobody$/],
  })
  t.equal((checked['warnings'] as string[]).length, 1)

  const run = (...args: string[]) => runCommand([...args, '--config', file], {})
  t.match(await run('extensions', 'list'), {
    code: 0,
    out: /KEY +unknown +2026-06-20 00:00Z .*never\n.*account acme .*spared /,
  })
  t.match(await run('deprecations', 'report'), { code: 0 })
})

/** The limit, the rest and the status of an answer. */
function rate({ status, headers }: Answer) {
  const [limit, remaining] = ['limit', 'remaining'].map((name) =>
    Number(headers[`x-ratelimit-${name}`]),
  )
  return { status, limit, remaining }
}

const plans = `
plans:
  free: { perMinute: 60, perDay: 1000, bans: off }
  pro: { perMinute: 300, perDay: 10000 }
  custom: { limits: custom, bans: off }
  daily: { perMinute: unlimited, perDay: 1000, bans: off }
`

/** Two gateways of one Redis, or one with a file. Of the fleet, each gateway's clock is wrong, by some seconds. */
async function startTwo(t: Test, kind: 'embedded' | 'redis', now: () => number, count = 2) {
  if (kind === 'embedded') {
    const admin = await startAdmin(t, { clock: now, more: plans })
    return { ...admin, all: [admin.gateway], redis: undefined }
  }
  const redis = await startRedis(t)
  const store = `redis: "${redis.url}"`
  const options = { store, storeClock: now, more: plans }
  const admin = await startAdmin(t, { ...options, clock: () => now() - 7_000 })
  const others: Gateway[] = []
  for (let i = 1; i < count; i++) {
    others.push(await startGateway(t, { ...options, clock: () => now() + i * 7_000 }))
  }
  return { ...admin, all: [admin.gateway, ...others], redis }
}

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`temporary limits end at their instant, on every gateway: ${kind}`, async (t) => {
    const untilMs = noon + 90_500
    let now = untilMs - 30_000
    const { gateway, ask, all } = await startTwo(t, kind, () => now)
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
    for (let used = json(await get(gateway, '/v1/quota')); ;) {
      const { remaining } = used['minute'] as { remaining: number }
      if (remaining <= 500) break
      for (const each of all) await get(each)
      used = json(await get(gateway, '/v1/quota'))
    }
    // A gateway's idea of Redis' time goes on between two answers, so the fleet has no last millisecond.
    now = untilMs - (kind === 'embedded' ? 1 : 10_000)
    t.match(
      await quotas(),
      all.map(() => ({ minute: { limit: 600 } })),
    )
    t.match(rate(await get(gateway)), { status: 200, limit: 600, remaining: 499 })
    const ends = () => Promise.all(all.map(({ stores }) => stores.audit.list(reverts)))
    t.strictSame(
      await ends(),
      all.map(() => []),
    )
    now = untilMs
    await quotas()
    for (const each of all) {
      t.match(rate(await get(each)), { status: 429, limit: 60, remaining: 0 }, 'counts are kept')
    }
    t.match(
      await quotas(),
      all.map(() => ({ minute: { limit: 60, remaining: 0 } })),
    )
    now = noon + 120_000
    await quotas()
    t.match(rate(await get(gateway)), { status: 200, limit: 60, remaining: 59 })
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
  const { gateway, ask } = await startTwo(t, 'embedded', () => now)
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
  t.match(rate(await get()), { limit: 50, remaining: 48 })
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
  const { gateway, ask, file } = await startTwo(t, 'embedded', Date.now)
  const later = (days: number) => new Date(Date.now() + days * day).toISOString()
  const { key } = await gateway.key({ name: 'Acme', expiresAtMs: Date.now() + 5 * day })
  const path = `/admin/keys/${key.id}`
  const before = (await ask('GET', path)).text
  for (const [body, sentence] of [
    [{ limits: { perMinute: 5, until: later(-1) } }, /end .* is in the past/],
    [{ plan: 'pro', until: later(-1) }, /end .* is in the past/],
    [{ limits: { perMinute: 5 }, until: later(6) }, /never comes: the key expires before it/],
    [{ plan: 'pro', until: later(6) }, /never comes: the key expires before it/],
    [{ until: later(1) }, /an end needs a plan or a limit/i],
    [{ note: 'x', until: later(1) }, /an end needs a plan or a limit/i],
    [{ plan: 'pro', limits: { until: later(1) } }, /end of limits needs a limit/],
    [{ limits: { perMinute: null }, until: later(1) }, /an end needs a plan or a limit/i],
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
  t.equal((await ask('GET', path)).text, before)
  const limits = { perMinute: 5, perDay: 9 }
  const both = { plan: 'custom', limits, until: later(1) }
  t.match(await ask('PATCH', path, both), { status: 200 }, 'limits come and go with the plan')
  t.match(json(await ask('GET', path)), { plan: 'custom', limits, afterwards: { limits: null } })

  const run = (...args: string[]) => runCommand([...args, '--config', file], {})
  await ask('PATCH', path, { until: null })
  t.match(await run('keys', 'change', 'Acme', '--until', later(1)), {
    code: 2,
    out: /an end needs/,
  })
  t.match(await run('keys', 'list', '--temporary'), { out: 'No key matches.' })
  const set = await run('keys', 'change', 'Acme', '--per-minute', '600', '--until', later(1))
  t.match(set, { code: 0, out: /Its limits are now 600 a minute.*\nBy itself it ends: limits of/ })
  await gateway.key({ name: 'Other' })
  const list = await run('keys', 'list', '--temporary')
  t.match(list, { code: 0, out: /UNTIL.*\n.*Acme .*600\/min +20/ })
  t.notMatch(list.out, 'Other')
  const listed = json(await ask('GET', '/admin/keys?temporary=true&limit=5'))
  t.match(listed, {
    keys: [{ name: 'Acme', limits: { perMinute: 600, until: later(1).slice(0, 13) } }],
  })
  t.equal((listed['keys'] as unknown[]).length, 1)
  t.match(await run('keys', 'change', 'Acme', '--no-until'), { code: 0 })
  t.match(await run('keys', 'list', '--temporary'), { out: 'No key matches.' })
  const audit = await ask('GET', `/admin/audit?key=${key.id}`)
  t.match(
    audit.text,
    /"after":\{[^}]*"limits":\{"perMinute":600,"until":"/,
    'the audit has the end',
  )
})

t.test('the end comes while Redis is out of reach, and after a restart', async (t) => {
  const start = Date.UTC(2026, 5, 15, 12, 0, 30)
  let now = start
  const { gateway, ask, all, redis } = await startTwo(t, 'redis', () => now)
  const { key, headers } = await gateway.key()
  const until = new Date(start + 10_000).toISOString()
  await ask('PATCH', `/admin/keys/${key.id}`, { limits: { perMinute: 600 }, until })
  await ask('POST', `/admin/quota/${key.id}/grant`, { perDay: 50, note: 'x' })
  const get = (at: Gateway) => at.call('GET', '/v1/pets', undefined, headers)
  const quota = async (at: Gateway) => json(await at.call('GET', '/v1/quota', undefined, headers))
  for (const each of all) {
    await untilTrue(async () => (await get(each)).headers['x-ratelimit-limit'] === '600')
  }
  await redis?.kill()
  for (const each of all) {
    t.match(await quota(each), { minute: { limit: 600 }, day: { limit: 1050 } })
    each.app.core.quotas.noteTime(start + 11_000)
    t.match(await quota(each), { minute: { limit: 60 }, day: { limit: 1050 } })
    each.app.core.quotas.noteTime(start + day)
    t.match(await quota(each), { minute: { limit: 60 }, day: { limit: 1000 } }, 'grants end, too')
  }

  await t.test('a restart', async (t) => {
    const store = `file: ${join(t.testdir(), 'gateway.db')}`
    const options = { store, clock: () => now, more: plans }
    let headers = {}
    const quota = async ({ call }: Gateway) =>
      json(await call('GET', '/v1/quota', undefined, headers))
    const granted = { plan: 'pro', minute: { limit: 305 }, day: { limit: 10_050 } }
    await t.test('before it', async (t) => {
      const before = await startGateway(t, options)
      const one = await before.key()
      ;({ headers } = one)
      const { config } = before
      const desk = desksFor({ ...config, stores: before.stores, clock: () => now, by: 'x' })
      const edit = desk.keys.changing({ plan: 'pro' }, { plan: start + 10_000 })
      await desk.keys.edit(one.key.id, edit)
      await desk.quotas.grant(one.key.id, { perDay: 50, perMinute: 5 })
      await untilTrue(async () => (await quota(before))['plan'] === 'pro')
      t.match(await quota(before), granted)
    })
    const after = await startGateway(t, options)
    t.match(await quota(after), granted)
    now = start + 9_999
    t.match(await quota(after), granted)
    now++
    t.match(await quota(after), { plan: 'free', minute: { limit: 65 }, day: { limit: 1050 } })
  })
})

for (const kind of ['embedded', 'redis'] as const) {
  t.test(`a grant lets exactly so many more in, until its day ends: ${kind}`, async (t) => {
    let now = noon
    const { ask, all, gateway, file } = await startTwo(t, kind, () => now, 4)
    const account = { account: 'acme', plan: 'daily' }
    const [one, two] = [await gateway.key(account), await gateway.key(account)]
    const path = `/admin/quota/${one.key.id}/grant`
    const get = (at: Gateway, { headers } = two) => at.call('GET', '/v1/pets', undefined, headers)
    /** Asks all gateways at once; gives the number that was let in. */
    const flood = async (each: number): Promise<number> => {
      const asked = all.flatMap((at) => Array.from({ length: each }, () => get(at)))
      const answers = await Promise.all(asked)
      return answers.filter(({ status }) => status === 200).length
    }
    let admitted = 0
    while (admitted < 1_000) admitted += await flood(50)
    t.equal(admitted, 1_000)
    t.match(rate(await get(gateway)), { status: 429, limit: 1_000 })
    const granted = json(await ask('POST', path, { perDay: 60, note: 'a job' }))
    const first = { day: '2026-06-15', perDay: 60, perMinute: null, by: 'admin', note: 'a job' }
    t.match(granted, { day: { limit: 1_060, remaining: 60, used: 1_000 }, grants: [first] })
    const second = { ...first, perDay: 40, note: null }
    const both = json(await ask('POST', path, { perDay: 40 }))
    t.strictSame(both['grants'], [first, second], 'each with its own amount')
    for (const at of all) {
      await untilTrue(async () =>
        (await at.call('GET', '/v1/quota', undefined, one.headers)).text.includes('1100'),
      )
    }
    admitted = 0
    for (let i = 0; i < 4; i++) admitted += await flood(30)
    t.equal(admitted, 100, 'exactly')
    for (const at of all) {
      t.match(rate(await get(at, one)), { status: 429, limit: 1_100, remaining: 0 })
      t.match(json(await at.call('GET', '/v1/quota', undefined, one.headers)), {
        day: { limit: 1_100, remaining: 0 },
      })
    }
    t.match(json(await ask('GET', `/admin/keys/${two.key.id}`)), {
      standing: { grants: [first, second] },
    })
    t.match(json(await ask('GET', '/admin/audit')), {
      0: {
        ...{ what: 'quota.grant', by: 'admin', subject: one.key.id, before: null },
        after: { quota: 'account:acme', perDay: 40, until: '2026-06-16T00:00:00.000Z' },
      },
    })
    now = Date.UTC(2026, 5, 16)
    t.match(rate(await get(gateway)), { status: 200, limit: 1_000, remaining: 999 })
    t.strictSame(json(await ask('GET', `/admin/quota/${one.key.id}`))['grants'], [])

    for (const [body, status, sentence] of [
      [{}, 400, /needs points/],
      [{ note: 'x' }, 400, /needs points/],
      [{ perDay: 0 }, 400, /whole number from 1/],
      [{ perMinute: 5 }, 400, /has no limit a minute: there is nothing to add to/],
    ] as const) {
      const answer = await ask('POST', path, body)
      t.match(json(answer), { status, message: sentence })
    }
    if (kind === 'redis') return
    now = Date.now()
    const args = ['quota', 'grant', one.key.id, '--day', '7', '--note', 'by hand', '--by', 'eve']
    const ran = await runCommand([...args, '--config', file], {})
    t.match(ran, { code: 0, out: /Its limit is 1007 a day until .*, 0 of them used\./ })
    await untilTrue(async () => (await get(gateway)).headers['x-ratelimit-limit'] === '1007')
    const shown = await runCommand(['quota', 'show', one.key.id, '--config', file], {})
    t.match(shown.out, /GRANTED.*\n\S+ +7 +- +eve +by hand/)
  })
}

t.test('a grant ends a refusal that every gateway has cached', async (t) => {
  const start = noon + 5_000
  const { ask, all, gateway } = await startTwo(t, 'redis', () => start)
  const { key, headers } = await gateway.key({ limits: { perMinute: 2 } })
  const get = (at: Gateway) => at.call('GET', '/v1/pets', undefined, headers)
  for (const at of [...all, ...all]) await get(at)
  for (const at of all) t.match(rate(await get(at)), { status: 429, limit: 2 }, 'from memory')
  await ask('POST', `/admin/quota/${key.id}/grant`, { perMinute: 3 })
  let admitted = 0
  const until = performance.now() + 10_000
  while (admitted < 3 && performance.now() < until) {
    for (const at of all) if ((await get(at)).status === 200) admitted++
  }
  t.equal(admitted, 3)
  for (const at of all) t.match(rate(await get(at)), { status: 429, limit: 5, remaining: 0 })
})
