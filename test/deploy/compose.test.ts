import { DCLinter } from 'dclint'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { parseConfig } from '../../gateway/office/config/load.ts'
import {
  backendStops,
  environmentIn,
  folder,
  gatewayStops,
  namesIn,
  namesReadBy,
  portsOf,
  read,
  saidBy,
  version,
} from '../support/deployment.ts'
import { root } from '../support/process.ts'
import { promtool } from '../support/prometheus.ts'
import { folderOf } from '../support/folder.ts'

type Service = Readonly<{
  image: string
  build?: { context: string; dockerfile: string; target: string }
  environment?: Record<string, string>
  volumes: string[]
  ports?: string[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: object
  pull_policy?: string
  profiles?: string[]
  networks?: string[]
  command?: string[]
  stop_grace_period?: string
}>

const text = read('compose.yaml')
const secrets = {
  GATEWAY_SECRET: 'between the two',
  ADMIN_TOKEN: 'the-token-of-an-operator',
  REDIS_PASSWORD: 'p4ss',
}

/** The file as Compose understands it in an environment. */
function composed(environment: Record<string, string>): Record<string, Service> {
  const interpolated = text.replace(
    /\$\{(\w+):([-?])([^}]*)\}/g,
    (_all, name: string, sign: string, rest: string) => {
      const value = environment[name] || (sign === '-' ? rest : undefined)
      if (value === undefined) throw new Error(`${name} ${rest}`)
      return value
    },
  )
  return (parse(interpolated, { merge: true }) as { services: Record<string, Service> }).services
}

const services = composed(secrets)
const gateways = Object.entries(services).filter(([name]) => name.startsWith('gateway'))
const { backend } = services

/** The faults of a file by the schema of the Compose Specification, and by a linter's rules. */
function mistakesIn(t: Test, text: string): string[] {
  const file = join(folderOf(t), 'compose.yaml')
  writeFileSync(file, text)
  // An image that is built here has a name as well, by which the second gateway goes.
  const rules = { 'no-build-and-image': 0 } as const
  const linter = new DCLinter({ rules, quiet: true, debug: false, exclude: [] })
  type Message = Readonly<{ type: string; rule: string; message: string }>
  const results = linter.lintFiles([file], false) as { messages: Message[] }[]
  return results
    .flatMap(({ messages }) => messages)
    .filter(({ type }) => type === 'error')
    .map(({ rule, message }) => `${rule}: ${message}`)
}

t.test('compose.yaml is as the Compose Specification says', (t) => {
  t.strictSame(mistakesIn(t, text), [])
  for (const [from, to] of [
    ['stop_grace_period', 'stop_grace'],
    ['service_healthy', 'healthy'],
    ['[ALL]', 'ALL'],
  ] as const) {
    t.match(mistakesIn(t, text.replaceAll(from, to)), [/^invalid-schema: /], `not with ${to}`)
  }
  t.match(mistakesIn(t, text.replace('127.0.0.1:8082', '127.0.0.1:8080')), [/^no-duplicate/])
  t.end()
})

t.test('without its secrets it does not start, and says which one is missing', (t) => {
  for (const name of Object.keys(secrets)) {
    t.throws(() => composed({ ...secrets, [name]: '' }), { message: `${name} must be set` })
  }
  t.strictSame([...new Set(namesIn(text))].sort(), [
    'ADMIN_TOKEN',
    'GATEWAY_SECRET',
    'LOG_LEVEL',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'REDIS_PASSWORD',
    'TRUSTED_PROXY',
  ])
  t.end()
})

t.test('two gateways and a backend find each other and their Redis', (t) => {
  const config = read('etc/gateway.yaml')
  t.equal(gateways.length, 2)
  const published = gateways.flatMap(([, { ports = [] }]) => ports)
  t.equal(new Set(published.map((port) => port.split(':')[1])).size, 4, 'no port is taken twice')
  for (const [name, { environment = {}, ports = [] }] of gateways) {
    const { listen, admin, store, upstreams } = parseConfig(config, environment, 'gateway.yaml')
    const inside = ports.map((port) => Number(port.split(':')[2]))
    t.strictSame(inside, [listen.port, admin.port], `${name}: its ports are published`)
    t.ok(
      ports.every((port) => port.startsWith('127.0.0.1:')),
      `${name}: to this machine alone`,
    )
    t.strictSame(portsOf('gateway'), [listen.port, admin.port])
    t.match([listen.host, admin.host], ['0.0.0.0', '0.0.0.0'])
    t.match(store.redis, { url: 'redis://:p4ss@redis:6379' })
    t.ok(services['redis'], 'that is a service')
    const [target] = upstreams.get('animals')?.targets ?? []
    t.equal(target?.url, `http://backend:${portsOf('backend')[0]}`)
    const known = [...namesReadBy('gateway'), ...namesIn(config)]
    t.strictSame(
      Object.keys(environment).filter((each) => !known.includes(each)),
      [],
    )
    t.equal(environment['GATEWAY_SECRET'], backend?.environment?.['GATEWAY_SECRET'], 'one secret')
  }
  const known = namesReadBy('backend')
  t.strictSame(
    Object.keys(backend?.environment ?? {}).filter((each) => !known.includes(each)),
    [],
  )
  t.end()
})

t.test('the configuration is a folder’s, and what is to stay is in volumes', (t) => {
  const file = environmentIn('gateway')['TOLLGATE_CONFIG'] ?? ''
  for (const [name, { volumes }] of gateways) {
    const [from = '', to = '', mode] = volumes[0]?.split(':') ?? []
    t.strictSame([to, mode], [dirname(file), 'ro'], name)
    t.strictSame(readdirSync(resolve(folder, from)), ['gateway.yaml'], 'and nothing else is in it')
  }
  const { volumes } = parse(text) as { volumes: object }
  t.strictSame(backend?.volumes, [`animals:${saidBy('backend', 'VOLUME')[0]}`])
  t.strictSame(services['redis']?.volumes, ['redis:/data'])
  t.strictSame(Object.keys(volumes), ['animals', 'redis', 'prometheus'])
  t.end()
})

t.test('only gateways reach Redis, which has a password', (t) => {
  const { networks } = parse(text) as { networks: Record<string, { internal?: boolean }> }
  const within = (network: string): string[] =>
    Object.entries(services).flatMap(([name, { networks = ['default'] }]) =>
      networks.includes(network) ? [name] : [],
    )
  t.strictSame(within('counting'), ['gateway-1', 'gateway-2', 'redis'])
  t.strictSame(within('animals'), ['gateway-1', 'gateway-2', 'backend'])
  t.strictSame(within('watching'), ['gateway-1', 'gateway-2', 'prometheus', 'grafana'])
  t.strictSame(within('default'), [], 'all are in one of these alone')
  t.match(networks, { counting: { internal: true } })
  const { command = [], environment } = services['redis'] ?? {}
  t.equal(command[command.indexOf('--requirepass') + 1], secrets.REDIS_PASSWORD)
  t.equal(environment?.['REDISCLI_AUTH'], secrets.REDIS_PASSWORD, 'which its health check sends')
  t.end()
})

t.test('base images are of one version each', (t) => {
  const whole = /:\d+\.\d+\.\d+-bookworm@/
  t.match(services['redis']?.image, whole)
  const valkey = read('kubernetes/base/valkey.yaml')
  t.match(valkey, `image: ${services['redis']?.image}\n`, 'the same one there')
  const dockerfile = read('Dockerfile')
  const [, node] = /^ARG NODE=(.*)$/m.exec(dockerfile) ?? []
  t.match(node, /^\d+\.\d+\.\d+-bookworm-slim@/)
  t.equal(dockerfile.match(/^FROM node:\$\{NODE\} /gm)?.length, 3)
  t.end()
})

t.test('each image is built once, from its target; what waits, waits for a health check', (t) => {
  const built = Object.values(services).filter(({ build }) => build)
  t.equal(new Set(built.map(({ image }) => image)).size, built.length, 'once')
  for (const { image, build } of built) {
    const target = build?.target ?? ''
    t.equal(image, `tollgate-${target}:${version}`)
    t.equal(saidBy(target, 'ENTRYPOINT').length, 1, `${target} is a target`)
    t.equal(join(resolve(folder, build?.context ?? ''), '/'), root)
    t.equal(resolve(root, build?.dockerfile ?? ''), join(folder, 'Dockerfile'))
  }
  const names = built.map(({ image }) => image)
  for (const [name, { image, build, pull_policy, depends_on = {} }] of Object.entries(services)) {
    if (names.includes(image)) {
      t.equal(pull_policy, build ? 'build' : 'never', `${name} is not fetched`)
    }
    for (const [other, { condition }] of Object.entries(depends_on)) {
      t.equal(condition, 'service_healthy')
      const { build, healthcheck } = services[other] ?? {}
      const own = saidBy(build?.target ?? '', 'HEALTHCHECK')
      t.ok(healthcheck ?? own[0], `${name} waits for ${other}, which has a health check`)
    }
  }
  t.strictSame(Object.keys(gateways[0]?.[1].depends_on ?? {}), ['backend', 'redis'])
  t.end()
})

t.test(
  'the profile monitoring has Prometheus with the alerts, and Grafana with the dashboard',
  async (t) => {
    const profiles = Object.entries(services).flatMap(([name, { profiles }]) =>
      profiles ? [name] : [],
    )
    t.strictSame(profiles, ['prometheus', 'grafana'], 'they run only if they are asked for')
    for (const name of profiles) {
      const { ports = [], profiles, volumes = [], image } = services[name] ?? {}
      t.strictSame(profiles, ['monitoring'])
      t.match(image, /:v?\d+\.\d+\.\d+@/)
      t.ok(ports.every((port) => port.startsWith('127.0.0.1:')))
      for (const volume of volumes.filter((each) => each.startsWith('./'))) {
        const [from = '', , mode] = volume.split(':')
        t.ok(statSync(resolve(folder, from)).isFile(), `${from} is there`)
        t.equal(mode, 'ro')
      }
    }
    const file = join(folder, 'prometheus.yaml')
    const { code, output } = await promtool('check', 'config', file)
    t.equal(code, 0, output)
    const [, admin] = portsOf('gateway')
    t.match(parse(read('prometheus.yaml')), {
      rule_files: ['alerts.yaml'],
      scrape_configs: [
        {
          job_name: 'tollgate',
          static_configs: [{ targets: gateways.map(([name]) => `${name}:${admin}`) }],
        },
      ],
    })
    t.match(read('alerts.yaml'), 'up{job="tollgate"}', 'the job that the rules go by')
    t.match(services['prometheus']?.volumes, [
      './prometheus.yaml:/etc/prometheus/prometheus.yml:ro',
      './alerts.yaml:/etc/prometheus/alerts.yaml:ro',
    ])
    t.match(parse(read('monitoring/datasources.yaml')), {
      datasources: [{ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true }],
    })
    const [provider] = (
      parse(read('monitoring/dashboards.yaml')) as { providers: { options: { path: string } }[] }
    ).providers
    const home =
      services['grafana']?.environment?.['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'] ?? ''
    t.equal(dirname(home), provider?.options.path)
    t.ok(services['grafana']?.volumes.includes(`./grafana.json:${home}:ro`))
  },
)

t.test('there is time to stop', (t) => {
  const time = ({ stop_grace_period = '' }: Partial<Service> = {}) =>
    Number(/^(\d+)s$/.exec(stop_grace_period)?.[1])
  for (const [name, service] of gateways)
    t.ok(time(service) > gatewayStops(read('etc/gateway.yaml')), `${name}: ${time(service)} s`)
  t.ok(time(backend) > backendStops, `backend: ${time(backend)} s`)
  t.end()
})

t.test('the configuration for containers is the shipped one, but for where things are', (t) => {
  const environment = services['gateway-1']?.environment ?? {}
  const deployed = parseConfig(read('etc/gateway.yaml'), environment, 'gateway.yaml')
  const shipped = parseConfig(read('../gateway.yaml'), environment, '../gateway.yaml')
  const animals = shipped.upstreams.get('animals')
  const targets = deployed.upstreams.get('animals')?.targets
  t.strictSame(deployed, {
    ...shipped,
    hash: deployed.hash,
    listen: deployed.listen,
    admin: deployed.admin,
    store: { ...shipped.store, redis: deployed.store.redis },
    // Nobody asks from there in a container, until TRUSTED_PROXY names another.
    trustedProxies: ['127.0.0.1'],
    // Images have no document; who wants pages for callers brings one.
    portal: undefined,
    upstreams: new Map([['animals', { ...animals, targets }]]),
  })
  t.throws(() => parseConfig(read('etc/gateway.yaml'), {}, 'gateway.yaml'), /REDIS_URL/)
  t.end()
})
