import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Pool } from 'undici'
import { parse } from 'yaml'
import { signingKey, startKeyServer } from '../support/jwt.ts'
import { pairFor, selfSigned } from '../support/certificate.ts'
import { read } from '../support/deployment.ts'
import { configFor, startUpstream, type Upstream } from '../support/gateway.ts'
import { caller, json, type Call } from '../support/http.ts'
import { token } from '../support/operator.ts'
import { type Service, adminOf, root, startProcess } from '../support/process.ts'
import { startPrometheus, type Prometheus } from '../support/prometheus.ts'
import { groupsIn, labelsIn, selectorsIn } from '../support/promql.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { panelsOf } from './dashboard.ts'
import { folderOf } from '../support/folder.ts'

const alertsFile = join(root, 'config/deploy/alerts.yaml')
const { groups } = parse(read('alerts.yaml')) as {
  groups: { rules: { alert: string; expr: string }[] }[]
}
const rules = groups.flatMap((group) => group.rules)
const panels = panelsOf(read('grafana.json'))

/** Labels that Prometheus adds to all series. */
const labelsOfScrapes = ['instance', 'job']

type Member = Readonly<{
  file: string
  process: Service
  admin: string
  call: Call
  url: string
  ask: Call
}>

async function startMember(t: Test, name: string, text: string): Promise<Member> {
  const file = join(t.testdirName, `${name}.yaml`)
  writeFileSync(file, text)
  const env = { TOLLGATE_CONFIG: file, ADMIN_TOKEN: token, LOG_LEVEL: 'info' }
  const process = startProcess(t, 'gateway/main.ts', { env })
  const url = await process.url
  const admin = new URL(await adminOf(process)).host
  const operate = caller(`http://${admin}`)
  const ask: Call = (method, path, body, headers) =>
    operate(method, path, body, { authorization: `Bearer ${token}`, ...headers })
  return { file, process, admin, url, call: caller(url), ask }
}

type Place = Readonly<{
  redis: RedisServer
  targets: readonly Upstream[]
  one: Member
  two: Member
  prometheus: Prometheus
  /** The certificate that both gateways show to targets. */
  pair: ReturnType<typeof pairFor>
  /** Makes a key of a plan; gives the headers of its caller. */
  key: (plan: string) => Promise<{ authorization: string }>
}>

/** Two gateways with Redis and three targets, one of them that of a swap, and a Prometheus that looks at them. */
async function startPlace(t: Test): Promise<Place> {
  const folder = folderOf(t)
  const redis = await startRedis(t)
  const start = () =>
    startUpstream(t, ({ url }, response) => {
      response.writeHead(url === '/v1/fail' ? 500 : 200, { 'content-type': 'application/json' })
      response.end('{}')
    })
  const [first, second, next] = [await start(), await start(), await start()]
  const receiver = await start()
  const keySet = await startKeyServer(t, [signingKey('EdDSA')])
  const pair = pairFor(t)
  const text = configFor('', `redis: "${redis.url}", timeout: 300ms`, {
    targets: `[ "${first.url}", "${second.url}" ]`,
    routes:
      '[ { path: /v1/*, upstream: animals }, ' +
      '{ path: /v1/ask, upstream: animals, cost: { estimate: 1, from: answer } } ]',
    upstreamMore:
      `tls: ${pair.yaml}, ` +
      'health: { path: /healthz, every: 100ms, unhealthyAfter: 1 }, ' +
      `swap: { to: [ "${next.url}" ], steps: [50], every: 1h, back: { after: 1000 } }`,
    more: `
plans:
  free: { perMinute: 2, perDay: 1000, atOnce: 100, shadow: { perMinute: 1 } }
  pro: { perMinute: unlimited, perDay: unlimited, perMonth: { limit: 1000, beyond: meter, upTo: 200% } }
bans: { strikes: 1, grace: 1ms }
jwt: [ { issuer: https://login.example/, audience: a, keys: "${keySet.url}", plan: { claim: plan, is: { gold: free }, else: free } } ]
notices: [ { to: "${receiver.url}", secret: a-secret-of-16-characters } ]
deprecations: [ { operation: "GET /v1/pets/{petId}", since: 2025-12-05 } ]`,
  })
  const [one, two] = [await startMember(t, 'one', text), await startMember(t, 'two', text)]
  const prometheus = await startPrometheus(t, {
    ...{ folder, rules: alertsFile, targets: [one.admin, two.admin] },
  })
  const key: Place['key'] = async (plan) => {
    const made = json(await one.ask('POST', '/admin/keys', { name: `A ${plan}`, plan }))
    return { authorization: `Bearer ${String(made['key'])}` }
  }
  return { redis, targets: [first, second, next], one, two, prometheus, pair, key }
}

/** Waits until an alert is pending or fires. */
async function alerted({ alerts }: Prometheus, name: string): Promise<void> {
  await until(async () => (await alerts()).has(name), 30_000)
}

/** Keys of a plan are banned, each by its own requests. */
async function banSix({ one, key }: Place): Promise<void> {
  for (let i = 0; i < 6; i++) {
    const headers = await key('free')
    await until(async () => {
      const { text } = await one.call('GET', '/v1/x', undefined, headers)
      return json(text)['code'] === 'key_banned'
    })
  }
}

/** So many requests with a wrong key that five minutes of them are above ten a second. */
async function guess({ one }: Place): Promise<void> {
  const pool = new Pool(one.url, { connections: 4, pipelining: 10 })
  const headers = { authorization: 'Bearer nobody' }
  const guesses = Array.from({ length: 4_000 }, async () => {
    const { body } = await pool.request({ method: 'GET', path: '/v1/x', headers })
    await body.dump()
  })
  await Promise.all(guesses)
  await pool.close()
}

async function metricsOf({ ask }: Member): Promise<string> {
  return (await ask('GET', '/metrics')).text
}

t.test('in real situations each alert comes up, and each panel shows something', async (t) => {
  const place = await startPlace(t)
  const { one, two, prometheus, redis, targets, pair } = place
  const pro = await place.key('pro')
  await one.call('GET', '/v1/pets/7', undefined, pro)
  await two.call('GET', '/v1/x', undefined, pro)
  const isSeen = async (promql: string) => (await prometheus.query(promql)).length > 0
  await until(
    () => isSeen('count(tollgate_gateways) == 2 and min(tollgate_swap_step) >= 1'),
    30_000,
  )
  // A new process may need long for its first requests, and for Prometheus' first looks at it.
  const before = async () =>
    [...(await prometheus.alerts())].filter((name) => name !== 'TollgateGatewaySlow')
  await until(async () => (await before()).length === 0, 30_000)
  t.strictSame(await before(), [], 'none while all is well')

  await banSix(place)
  await alerted(prometheus, 'TollgateManyRefusals')
  await alerted(prometheus, 'TollgateManyBans')
  await guess(place)
  await alerted(prometheus, 'TollgateKeysGuessed')
  for (let i = 0; i < 30; i++) await one.call('GET', '/v1/fail', undefined, pro)
  await alerted(prometheus, 'TollgateUpstreamFailing')
  for (let i = 0; i < 30; i++) await one.call('GET', '/v1/ask', undefined, pro)
  await alerted(prometheus, 'TollgateCostsNotTold')
  const { status } = await one.ask('POST', '/admin/upstreams/animals/swap/back')
  t.equal(status, 200)
  await alerted(prometheus, 'TollgateSwapWentBack')

  await seePanels(t, prometheus)
  // Either of them sends the notices.
  holdNames(t, `${await metricsOf(one)}\n${await metricsOf(two)}`)

  pair.write(selfSigned({ endsAtMs: Date.now() + 13 * 86_400_000 }))
  await alerted(prometheus, 'TollgateCertificateEnds')
  writeFileSync(two.file, readFileSync(two.file, 'utf8').replace('perDay: 1000', 'perDay: 1001'))
  await alerted(prometheus, 'TollgateConfigsDiffer')
  writeFileSync(one.file, readFileSync(one.file, 'utf8').replace('perDay: 1000', 'perDay: many'))
  await alerted(prometheus, 'TollgateConfigRefused')
  targets[0]?.close?.()
  await alerted(prometheus, 'TollgateTargetOut')
  t.notOk((await prometheus.alerts()).has('TollgateUpstreamDown'), 'another target serves')
  for (const { close } of targets) close?.()
  await alerted(prometheus, 'TollgateUpstreamDown')

  redis.child().kill('SIGSTOP')
  await until(async () => {
    await two.call('GET', '/v1/x', undefined, pro)
    return /^tollgate_store_fallback 1$/m.test(await metricsOf(two))
  })
  await alerted(prometheus, 'TollgateStoreOutOfReach')
  await alerted(prometheus, 'TollgateGatewaySlow')
  two.process.child.kill('SIGKILL')
  await alerted(prometheus, 'TollgateDown')
})

/** Each query of the dashboard has series, with the labels that its legend names. */
async function seePanels(t: Test, { query }: Prometheus): Promise<void> {
  for (const { title, targets } of panels) {
    for (const { expr, legendFormat } of targets) {
      const promql = expr.replaceAll('$instance', '.+').replaceAll('$__rate_interval', '1m')
      const series = await query(promql)
      t.not(series.length, 0, `${title}: ${promql}`)
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
        t.ok(
          series.every(({ metric }) => label in metric),
          `${title}: ${label} of its legend`,
        )
      }
    }
  }
}

/** The metrics, labels and values that rules and panels name are those of a gateway; the README lists them all. */
function holdNames(t: Test, metrics: string): void {
  const labels = labelsIn(metrics)
  const exprs = [...rules, ...panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr)
  for (const expr of exprs) {
    const selectors = selectorsIn(expr).filter(({ metric }) => metric !== 'up')
    for (const { metric, matchers } of selectors) {
      t.ok(labels.has(metric), `${metric} exists`)
      for (const { label, value } of matchers) {
        if (labelsOfScrapes.includes(label)) continue
        const values = [...(labels.get(metric)?.get(label) ?? [])]
        for (const each of value.split('|').filter(Boolean)) {
          t.ok(
            values.some((known) => new RegExp(`^(?:${each})$`).test(known)),
            `${metric}: ${each}`,
          )
        }
        t.not(values.length, 0, `${metric} has the label ${label}`)
      }
    }
    for (const label of groupsIn(expr)) {
      const isKnown = selectors.some(({ metric }) => labels.get(metric)?.has(label))
      t.ok(isKnown || labelsOfScrapes.includes(label) || !selectors.length, `${label} in ${expr}`)
    }
  }
  const listed = readFileSync(join(root, 'gateway/office/admin/README.md'), 'utf8')
  const rows = [...listed.matchAll(/^\| `(tollgate_\w+)(?:\{([\w,]+)\})?`/gm)]
  const told = rows.map(
    ([, name = '', inside = '']) => `${name} ${inside.split(',').sort().join()}`,
  )
  const real = [...metrics.matchAll(/^# TYPE (tollgate_\w+) (\w+)$/gm)].map(
    ([, name = '', type = '']) => {
      const own = labels.get(type === 'histogram' ? `${name}_sum` : name)?.keys() ?? []
      return `${name} ${[...own].sort().join()}`
    },
  )
  t.strictSame(
    told.sort(),
    [...new Set(real)].sort(),
    'the README lists the metrics, with their labels',
  )
}
