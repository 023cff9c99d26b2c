import { join } from 'node:path'
import t from 'tap'
import type { Config } from '../../../gateway/front/config/config.ts'
import { configOf } from '../../../gateway/office/config/load.ts'
import { costsBy } from '../../../gateway/office/foresight/replay/route-costs.ts'
import type { SimulationView } from '../../../gateway/office/foresight/replay/simulation-view.ts'
import { dayMs, minuteMs } from '../../../shared/windows.ts'
import { runCommand } from '../../support/command.ts'
import { configFor, startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { startProcess } from '../../support/process.ts'
import { startRedis } from '../../support/redis.ts'
import { appOfCosts } from '../../support/routes.ts'
import { seeded } from '../../support/seeded.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

t.test('a replay of a run agrees with all of its decisions', async (t) => {
  const { url } = await startRedis(t)
  const upstream = await startUpstream(t, (request, response) => {
    if (request.url === '/v1/broken') response.destroy()
    else response.end('{}')
  })
  const free = (perMinute: number) => `free: { perMinute: ${perMinute}, perDay: 100 }`
  const plansOf = (perMinute: number) =>
    `plans: { ${free(perMinute)}, calm: { perMinute: 8, perDay: 40, bans: off }, enterprise: custom }`
  const bans = 'bans: { strikes: 4, within: 1m, grace: 1s, for: 2m, factor: 2 }'
  const more = `${plansOf(12)}\n${bans}`
  const routes =
    '[{ path: /v1/dear, upstream: animals, cost: 3 }, { path: /v1/free, upstream: animals, cost: 0 }, ' +
    '{ path: /v1/vast, upstream: animals, cost: 500 }, { path: /v1/*, upstream: animals }]'
  const store = `redis: "${url}"`
  let now = (Math.floor(Date.now() / dayMs) + 2) * dayMs - 15 * minuteMs
  const storeClock = () => now
  const logs = await Promise.all(
    [0, 1].map(async () => {
      const lines: string[] = []
      const log = { level: 'info', target: { write: (line: string) => void lines.push(line) } }
      const options = { store, upstream, routes, more, log, storeClock }
      return { lines, ...(await startGateway(t, options)) }
    }),
  )
  const [first] = logs
  if (!first) throw new Error('two were asked for')
  const unlimited = { perMinute: 'unlimited', perDay: 'unlimited' } as const
  const keys = await Promise.all(
    [
      ...[{ account: 'acme' }, { account: 'acme' }, {}, { plan: 'calm' }],
      { limits: { perMinute: 5 } },
      { plan: 'enterprise', limits: { perMinute: 3, perDay: 20 } },
    ].map((each) => first.key(each)),
  )
  const ticking = await first.key({ name: 'Ticking', limits: unlimited })
  const unlucky = await first.key({ name: 'Unlucky', limits: { perDay: 3 } })
  const get = ({ call }: (typeof logs)[number], path: string, headers = ticking.headers) =>
    call('GET', path, undefined, headers)
  for (const gateway of logs) {
    for (const { headers } of [...keys, ticking, unlucky]) {
      await until(async () => (await get(gateway, '/v1/quota', headers)).status === 200)
    }
  }
  const random = seeded(183)
  const paths = ['pets', 'pets', 'pets', 'pets', 'dear', 'free', 'vast', 'quota'].map(
    (name) => `/v1/${name}`,
  )
  for (let batch = 0; batch < 90; batch++) {
    now += [200, 900, 1_500, 25_000, 70_000][random(5)] ?? 0
    // The clock has jumped: each gateway hears of it, as it does with each answer of the store.
    for (const gateway of logs) await get(gateway, '/v1/pets')
    await Promise.all(
      keys.flatMap(({ headers }) =>
        Array.from({ length: random(7) }, () =>
          get(logs[random(2)] ?? first, paths[random(paths.length)] ?? '', headers),
        ),
      ),
    )
  }
  for (let i = 0; i < 5; i++) {
    await get(first, i < 2 ? '/v1/broken' : '/v1/pets', unlucky.headers)
    const left = i < 2 ? 3 : Math.max(0, 4 - i)
    const remaining = async () =>
      (await get(first, '/v1/quota', unlucky.headers)).headers['x-ratelimit-remaining']
    await until(async () => Number(await remaining()) === left)
  }
  await first.call('GET', '/v1/pets')
  await until(() => first.lines.some((line) => line.includes('missing_api_key')))

  const others = { dear: 1, free: 2, vast: 4 }
  const otherRoutes = Object.entries(others).map(([name, cost]) => {
    return `{ path: /v1/${name}, upstream: animals, cost: ${cost} }`
  })
  /** A line whose cost is that of the other routes, and that doesn't tell by what. */
  const costing = (line: string): string => {
    const told = JSON.parse(line) as Record<string, unknown>
    const { path } = told
    const rest: Record<string, unknown> = { ...told, method: undefined, path: undefined }
    const isFreed = rest['cost'] === 0 && rest['decision'] === 'key_banned'
    if (typeof rest['decidedAt'] !== 'number' || isFreed || path === '/v1/quota') {
      return JSON.stringify(rest)
    }
    const name = String(path).slice('/v1/'.length) as keyof typeof others
    return JSON.stringify({ ...rest, cost: others[name] ?? 2 })
  }
  const dir = folderOf(t, {
    'own.yaml': configFor(upstream.url, store, { more, routes }),
    'costs.yaml': configFor(upstream.url, store, {
      more,
      routes: `[{ path: /v1/*, upstream: animals, cost: 9 }, ${otherRoutes.join(', ')}, { path: '/v1/{name}', upstream: animals, cost: 2 }]`,
    }),
    'costing.log': logs.flatMap(({ lines }) => lines.map(costing)).join('\n'),
    'lower.yaml': configFor(upstream.url, store, { more: `${plansOf(6)}\n${bans}`, routes }),
    'a.log': logs[0]?.lines.join('') ?? '',
    'b.log': logs[1]?.lines.join('') ?? '',
  })
  const inDir = (name: string) => join(dir, name)
  const files = [inDir('a.log'), inDir('b.log')]
  const replayed = async (config: string, ...args: string[]) =>
    (await runCommand(['simulate', ...files, '--config', inDir(config), ...args], {})).stdout
  const told = json(await replayed('own.yaml', '--json')) as unknown as SimulationView
  t.match(told.agrees, { config: { first: null }, against: null })
  t.equal(told.agrees.config?.same, told.agrees.config?.of)
  const sums = told.plans.map(({ config }) => config)
  const sum = (of: (each: (typeof sums)[number]) => number) =>
    sums.reduce((all, each) => all + of(each), 0)
  t.ok(sum(({ bans }) => bans) >= 3, 'keys were banned')
  for (const why of ['minute', 'day', 'ban'] as const) {
    t.ok(sum(({ refused }) => refused[why]) > 10, why)
  }
  const people = await replayed('lower.yaml', '--against', inDir('own.yaml'))
  t.match(people, /own\.yaml agrees with 100 % of what was logged \([\d,]+ of [\d,]+\)\.\n/)
  t.match(
    people,
    /lower\.yaml agrees with \d+(?:\.\d+)? % of .*; first not with \w+ at .*: logged admitted, /,
  )
  t.match(people, /\nfree +[\d,]+ → [\d,]+ /)
  const dearer = json(await replayed('costs.yaml', '--json')) as unknown as SimulationView
  const costed = await runCommand(
    ['simulate', inDir('costing.log'), '--config', inDir('costs.yaml'), '--json'],
    {},
  )
  t.strictSame(dearer, json(costed.stdout), 'as if the log had said what the new routes cost')
  t.ok(dearer.requests > told.requests, 'also what cost nothing before')
  t.ok(dearer.agrees.config?.first)
  const alone = json(
    await replayed('own.yaml', '--json', '--without-store'),
  ) as unknown as SimulationView
  t.ok(alone.agrees.config?.first, 'without the store, accounts and limits of keys are unknown')
})

t.test('a replay finds the cost of a request where the router finds it', async (t) => {
  const random = seeded(5)
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item
  let compared = 0
  for (let table = 0; table < 15; table++) {
    const written = Array.from({ length: 1 + random(7) }, (_, i) => {
      const parts = Array.from({ length: 1 + random(3) }, () =>
        pick(['a', 'b', 'a', 'a@b', '{x}', '{y}']),
      )
      const path = `/${parts.join('/')}${pick(['', '', '/*'])}`
      const methods = pick([undefined, undefined, ['GET'], ['POST', 'PUT']])
      return { path, upstream: 'u', cost: i, ...(methods ? { methods } : {}) }
    })
    const file = { store: { file: 'unused.db' }, plans: { free: 'custom' as const } }
    let config: Config
    try {
      config = configOf({
        ...{ ...file, upstreams: { u: { targets: ['http://127.0.0.1:1'] } } },
        routes: table % 3 === 0 ? [...written, { path: '/*', upstream: 'u', cost: 50 }] : written,
      })
    } catch {
      // Two routes for the same requests.
      continue
    }
    const apps = [await appOfCosts(t, config, true), await appOfCosts(t, config, false)]
    const costOf = costsBy(config)
    for (let i = 0; i < 80; i++) {
      const path = pick([
        ...Array.from({ length: 5 }, () =>
          Array.from(
            { length: 1 + random(4) },
            () => `/${pick(['a', 'b', 'c', 'x%20y', 'a@b', 'a%40b'])}`,
          ).join(''),
        ),
        ...['/', '/a/', '/v1/quota', '/v1/usage'],
      ])
      const method = pick(['GET', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND'] as const)
      const called = `${method} ${path}: ${JSON.stringify(written)}`
      for (const app of apps.filter(({ supportedMethods }) => supportedMethods.includes(method))) {
        const { body } = await app.inject({ method, url: path })
        const cost = String(costOf(method, path).cost)
        if (body !== cost) t.equal(cost, body, called)
        compared++
      }
    }
  }
  t.ok(compared > 500, `${compared} requests`)
})

t.test('logs of another system are replayed by named columns, and wrong lines named', async (t) => {
  const plans = 'free: { perMinute: 2, perDay: 1000 }\n  dear: { perMinute: 1, perDay: 1000 }'
  const dir = folderOf(t, {
    'a.yaml': `store: { file: gateway.db }\nplans:\n  ${plans}\nroutes: []`,
    'gone.yaml': 'store: { file: gateway.db }\nplans: { dear: custom }\nroutes: []',
    'rows.csv':
      '\ufeffwhen,client,points,more\r\n1790000000,zoo,1,"a, b"\r\n1790000001.5,zoo,,x\r\n\r\n' +
      '2026-09-21T14:13:22Z,zoo,1,x\n1790000003000,zoo,0,x\n1790000004,,1,x\n1790000005,ant,3,x',
    'more.jsonl': '{"when":1790000000.5,"client":"zoo"}\n{"when":1790000050,"client":7}\n',
    'bad.csv': 'time,key\n1790000000,zoo\nyesterday,zoo\n',
    'short.csv': 'time,key\n1790000000\n',
    'start.log':
      '\nTollgate, at "http://127.0.0.1:8080\n  free  curl …\n{"level":30,"time":1790000000000,"msg":"listening"}\n' +
      '{"level":30,"time":1790000001000,"key":"zoo","plan":"free","decision":"admitted","decidedAt":1790000001000}\n' +
      '{"level":30,"time":1\n',
    'prose.log': '\nTollgate runs at :8080\nStop it by Ctrl-C\n',
    'late.jsonl': [200, 100, 0].map((s) => `{"time":${1_790_000_000 + s},"key":"zoo"}`).join('\n'),
  })
  const names = ['--time', 'when', '--key', 'client', '--cost', 'points']
  const run = (...args: string[]) => {
    const inDir = args.map((each) => (/\.\w+$/.test(each) ? join(dir, each) : each))
    return runCommand(
      ['simulate', ...inDir, '--without-store', '--config', join(dir, 'a.yaml')],
      {},
    )
  }
  const two = ['rows.csv', 'more.jsonl', '--plan', 'free', ...names]
  const told = json((await run(...two, '--json')).stdout) as unknown as SimulationView
  t.match(told, {
    ...{ lines: 8, requests: 6, allKeys: 3, refusedKeys: 2, from: '2026-09-21T14:13:20.000Z' },
    leftOut: { keyless: 1, free: 1, undecided: 0, others: 0, planless: 0 },
    agrees: { config: null, against: null },
    plans: [{ plan: 'free', config: { admitted: 3, refused: { minute: 2, forbidden: 1 } } }],
    keys: [{ key: 'zoo', config: { firstRefusal: '2026-09-21T14:13:21.500Z' } }, { key: 'ant' }],
  })
  const gone = json((await run(...two, '--json', '--against', 'gone.yaml')).stdout)
  t.match(gone, { plans: [{ against: { admitted: 0, refused: { forbidden: 6 } } }] })
  t.match(
    (await run(...two)).stdout,
    /8 lines, 6 requests of 3 keys, .*; 1 without a key, 1 that cost nothing\./,
  )
  const late = await run('late.jsonl', '--plan', 'free')
  t.match(late.stdout, 'No key is refused.')
  const planless = (await run('late.jsonl')).stdout
  t.match(planless, /Left out: 3 requests of 1 keys without a plan/)
  const started = await run('start.log')
  t.match(started.stdout, /^5 lines, 1 requests of 1 keys/)
  t.match(started.stdout, /\nLeft out, because they aren’t JSON: 3 lines\.\n/)
  t.match(json((await run('start.log', '--json')).stdout), {
    ...{ lines: 5, requests: 1, leftOut: { notJson: 3, others: 1 } },
  })
  for (const [args, sentence] of [
    [['bad.csv', '--plan', 'free'], /bad\.csv:3: "time" must be a time with its zone/],
    [['short.csv'], /short\.csv:2: it has 1 fields, but the first line names 2/],
    [['prose.log'], /prose\.log:2: there is no column "time"; there are Tollgate runs at :8080/],
    [['bad.csv', '--key', 'who'], /bad\.csv:1: there is no column "who"; there are time, key/],
    [['none.csv'], /none\.csv can't be read: ENOENT/],
    [['bad.csv', '--plan', 'gold'], /there is no plan "gold"/],
    [[], /"simulate" needs LOG \(/],
    [['-', '-'], /- is given twice/],
  ] as const) {
    const { code, out, stdout } = await run(...args)
    t.ok(code > 0 && stdout === '', sentence.source)
    t.match(out, sentence)
  }
  const piped = await startProcess(t, 'gateway/office/cli/main.ts', {
    args: ['simulate', '-', '--plan', 'free', '--without-store', '--config', join(dir, 'a.yaml')],
    shell: `exec < ${join(dir, 'late.jsonl')}`,
  }).ended
  t.equal(piped.code, 0, 'standard input is a log, too')
})
