import { readFileSync } from 'node:fs'
import t from 'tap'
import { madePrivate, variedBy } from '../../../shared/caching.ts'
import type { Plan } from '../../../gateway/front/limits/plan.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'

const noon = Date.UTC(2026, 5, 15, 12)
const day = 86_400_000

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
      t.equal(headers['vary'], 'Accept, Authorization')
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
  t.equal((await get(undefined)).headers['vary'], 'Accept, Authorization')
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

  t.match(await runCommand(['deprecations', 'report', '--config', file], {}), {
    code: 0,
    out:
      '\n\nExtended: GET /v1/pets/{petId} for KEY until 2026-06-20 00:00:00Z; GET /v1/pets/{petId} for ' +
      'the account acme until 2026-06-18 08:00:00Z, spared by brownouts.',
  })
})
