import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { parse, parseAllDocuments } from 'yaml'
import { parseConfig } from '../../gateway/office/config/load.ts'
import {
  backendStops,
  environmentIn,
  folder as folderOfDeploy,
  gatewayStops,
  namesIn,
  namesReadBy,
  portsOf,
  read,
  saidBy,
  version,
} from '../support/deployment.ts'
import { root } from '../support/process.ts'

type Env = Readonly<{
  name: string
  value?: string
  valueFrom?: { secretKeyRef: { name: string; key: string } }
}>
type Probe = Readonly<{ httpGet: { path: string; port: string } }>
type Container = Readonly<{
  image: string
  env: Env[]
  ports: { name: string; containerPort: number }[]
  volumeMounts: { name: string; mountPath: string; subPath?: string }[]
  readinessProbe: Probe
  livenessProbe: Probe
  lifecycle?: { preStop: { exec: { command: string[] } } }
  securityContext: object
}>
type Labels = Record<string, string>
type Pod = Readonly<{
  containers: Container[]
  volumes: { name: string; configMap?: object; persistentVolumeClaim?: object }[]
  securityContext: object
  terminationGracePeriodSeconds: number
}>
type Manifest = Readonly<{ apiVersion: string; kind: string; metadata: { name: string } }> & {
  data: Record<string, string>
  spec: {
    replicas: number
    strategy: object
    selector: Labels & { matchLabels: Labels }
    template: { metadata: { labels: Labels }; spec: Pod }
    ports: { port: number; targetPort: string }[]
  }
}

type Kustomization = Readonly<{
  resources: string[]
  images?: { name: string; newTag: string }[]
  replicas?: { name: string; count: number }[]
  patches?: { path: string }[]
  namespace?: string
}>

const kustomization = (folder: string) =>
  parse(read(`kubernetes/${folder}/kustomization.yaml`)) as Kustomization
const manifestsIn = (file: string) =>
  parseAllDocuments(read(`kubernetes/${file}`)).map((document) => document.toJS() as Manifest)

const { resources } = kustomization('base')
const text = read('kubernetes/base/kustomization.yaml')
const manifests = resources.flatMap((file) => manifestsIn(`base/${file}`))
const all = (kind: string) => manifests.filter((each) => each.kind === kind)

function found(kind: string, name: string): Manifest {
  const manifest = all(kind).find(({ metadata }) => metadata.name === name)
  if (!manifest) throw new Error(`there is no ${kind} ${name}`)
  return manifest
}

function podOf(name: string): Pod & { container: Container } {
  const { spec } = found('Deployment', name).spec.template
  const [container] = spec.containers
  if (!container) throw new Error(`${name} has no container`)
  return { ...spec, container }
}

/**
 * The faults of manifest files, each a text of JSON, by Kubernetes' types: members that are unknown,
 * missing or of another type.
 */
function mistakesIn(...files: string[]): string[][] {
  const sources = new Map(files.map((file, i) => [`${root}kubernetes${i}.ts`, typed(file)]))
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    types: [],
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  }
  const host = ts.createCompilerHost(options)
  const getSourceFile = host.getSourceFile.bind(host)
  host.getSourceFile = (file, ...more) => {
    const source = sources.get(file)
    if (source === undefined) return getSourceFile(file, ...more)
    return ts.createSourceFile(file, source, ts.ScriptTarget.ES2023)
  }
  const program = ts.createProgram([...sources.keys()], options, host)
  return [...sources.keys()].map((file) =>
    program
      .getSemanticDiagnostics(program.getSourceFile(file))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' ')),
  )
}

/** Manifests as TypeScript that compiles if they are what they say they are. */
function typed(file: string): string {
  const manifests = JSON.parse(file) as Manifest[]
  const lines = manifests.map((manifest, i) => {
    const { apiVersion, kind } = manifest
    const [group = '', version = 'v1'] = apiVersion.split('/')
    const module = apiVersion.includes('/')
      ? `${group.split('.')[0]}/${version}`
      : `core/${apiVersion}`
    const type = `import('kubernetes-types/${module}').${kind}`
    return `export const manifest${i}: ${type} = ${JSON.stringify(manifest)}\n`
  })
  return lines.join('')
}

t.test('all manifests are as Kubernetes’ types say', (t) => {
  const { resources: more } = kustomization('overlay')
  const ofOverlay = more.filter((file) => file !== '../base')
  const added = ofOverlay.flatMap((file) => manifestsIn(`overlay/${file}`))
  t.strictSame(
    added.map(({ kind }) => kind),
    ['Ingress'],
  )
  const sound = JSON.stringify([...manifests, ...added])
  const unsound = [
    ['readinessProbe', 'readinesProbe', /readinesProbe.* does not exist in type 'Container'/],
    ['"replicas":2', '"replicas":"2"', /'string' is not assignable to type 'number'/],
    ['"containerPort":8080', '"protocol":"TCP"', /'containerPort' is missing/],
    ['"apps/v1"', '"apps/v1beta1"', /Cannot find module/],
  ] as const
  const [none, ...each] = mistakesIn(sound, ...unsound.map(([from, to]) => sound.replace(from, to)))
  t.strictSame(none, [])
  for (const [i, [, to, mistake]] of unsound.entries()) t.match(each[i]?.join('\n'), mistake, to)
  t.end()
})

t.test('the base holds each file of its folder, and the overlay changes what is in it', (t) => {
  const filesIn = (folder: string) =>
    readdirSync(join(folderOfDeploy, 'kubernetes', folder)).filter(
      (name) => name !== 'kustomization.yaml',
    )
  t.strictSame([...resources].sort(), filesIn('base').sort())
  const overlay = kustomization('overlay')
  const patches = overlay.patches?.map(({ path }) => path) ?? []
  t.strictSame([...overlay.resources, ...patches].sort(), ['../base', ...filesIn('overlay')].sort())
  for (const { name, newTag } of overlay.images ?? []) {
    t.equal(newTag, version)
    const images = all('Deployment').map((each) => podOf(each.metadata.name).container.image)
    t.ok(images.includes(`${name}:${newTag}`), `${name} is an image of the base`)
  }
  for (const { name } of overlay.replicas ?? []) t.ok(found('Deployment', name))
  for (const path of patches) {
    for (const { kind, metadata, spec } of manifestsIn(`overlay/${path}`)) {
      const { spec: pod } = found(kind, metadata.name).spec.template
      for (const { name } of spec.template.spec.containers as unknown as { name: string }[]) {
        t.ok(
          pod.containers.some((each) => (each as { name?: string }).name === name),
          name,
        )
      }
    }
  }
  t.end()
})

t.test('kubectl puts the overlay together', (t) => {
  const place = join(folderOfDeploy, 'kubernetes/overlay')
  const { status, stdout, error, stderr } = spawnSync('kubectl', ['kustomize', place], {
    encoding: 'utf8',
  })
  if (error) {
    t.pass('no kubectl is here')
    return t.end()
  }
  t.equal(status, 0, stderr)
  const whole = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest)
  t.equal(whole.length, manifests.length + 1)
  t.strictSame(mistakesIn(JSON.stringify(whole)), [[]])
  const gateway = whole.find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'gateway',
  )
  const [container] = gateway?.spec.template.spec.containers ?? []
  t.equal(container?.image, `registry.example/tollgate-gateway:${version}`)
  const proxy = container?.env.find(({ name }) => name === 'TRUSTED_PROXY')?.value
  const environment = { REDIS_URL: 'redis://:x@redis:6379', TRUSTED_PROXY: proxy }
  const map = whole.find(({ kind }) => kind === 'ConfigMap')
  const config = parseConfig(map?.data['gateway.yaml'] ?? '', environment, 'ConfigMap')
  t.strictSame(config.trustedProxies, ['10.0.0.0/8'])
  t.ok(whole.every(({ metadata }) => (metadata as { namespace?: string }).namespace === 'tollgate'))
  t.end()
})

t.test('the ConfigMap says what gateway.yaml says, and the gateway follows it', (t) => {
  const environment = { REDIS_URL: 'redis://:x@redis:6379' }
  const config = found('ConfigMap', 'gateway').data['gateway.yaml'] ?? ''
  const parsed = parseConfig(config, environment, 'ConfigMap')
  const { hash } = parsed
  const given = parseConfig(read('etc/gateway.yaml'), environment, 'gateway.yaml')
  t.strictSame(parsed, { ...given, hash })
  const { container, volumes } = podOf('gateway')
  const file = environmentIn('gateway')['TOLLGATE_CONFIG'] ?? ''
  const mount = container.volumeMounts.find(({ mountPath }) => mountPath === dirname(file))
  t.notOk(mount?.subPath, 'which would never change')
  const volume = volumes.find(({ name }) => name === mount?.name)
  t.strictSame(volume?.configMap, { name: 'gateway' })
  t.end()
})

t.test('services lead to ports that are listened on, and names to what there is', (t) => {
  const environment = { REDIS_URL: 'redis://:x@redis:6379' }
  const config = parseConfig(read('etc/gateway.yaml'), environment, 'gateway.yaml')
  const { listen, admin, upstreams } = config
  const numbers = ({ ports }: Container) => ports.map(({ containerPort }) => containerPort)
  t.strictSame(numbers(podOf('gateway').container), [listen.port, admin.port])
  t.strictSame(numbers(podOf('backend').container), portsOf('backend'))
  for (const { metadata, spec } of all('Service')) {
    const { template, selector } = found('Deployment', metadata.name).spec
    t.match(template.metadata.labels, spec.selector, `${metadata.name}: its pods`)
    t.match(template.metadata.labels, selector.matchLabels)
    const names = podOf(metadata.name).container.ports.map(({ name }) => name)
    for (const { targetPort } of spec.ports) t.ok(names.includes(targetPort), targetPort)
  }
  const portOf = (name: string) => found('Service', name).spec.ports[0]?.port
  const [target] = upstreams.get('animals')?.targets ?? []
  t.equal(target?.url, `http://backend:${portOf('backend')}`)
  const url = podOf('gateway').container.env.find(({ name }) => name === 'REDIS_URL')?.value
  t.equal(url, `redis://:$(REDIS_PASSWORD)@redis:${portOf('redis')}`)
  const budget = found('PodDisruptionBudget', 'gateway').spec.selector
  t.strictSame(budget, found('Deployment', 'gateway').spec.selector)
  for (const name of ['gateway', 'backend'])
    t.equal(podOf(name).container.image, `tollgate-${name}:${version}`)
  t.end()
})

t.test('only who should reaches gateways’ admin port, the animal store and Redis', (t) => {
  type Peer = Readonly<{
    podSelector?: { matchLabels: Labels }
    namespaceSelector?: { matchLabels: Labels }
  }>
  type Rule = Readonly<{ from?: Peer[]; ports: { port: string }[] }>
  type Policy = Readonly<{
    podSelector: { matchLabels: Labels }
    policyTypes: string[]
    ingress: Rule[]
    egress?: unknown[]
  }>
  const policyOf = (name: string) => found('NetworkPolicy', name).spec as unknown as Policy
  for (const { metadata } of all('Deployment')) {
    const { name } = metadata
    const { podSelector, policyTypes, ingress } = policyOf(name)
    const { template } = found('Deployment', name).spec
    t.match(template.metadata.labels, podSelector.matchLabels, `${name}: its pods`)
    t.ok(policyTypes.includes('Ingress'), `${name}: who is not named is not let in`)
    const ports = podOf(name).container.ports.map((port) => port.name)
    const told = ingress.flatMap(({ ports }) => ports.map(({ port }) => port))
    t.strictSame(told, ports, `${name}: each of its ports`)
  }
  const gateways = { podSelector: found('Deployment', 'gateway').spec.selector }
  for (const name of ['backend', 'redis']) {
    const { ingress, policyTypes, egress } = policyOf(name)
    t.strictSame(
      ingress.map(({ from }) => from),
      [[gateways]],
      `${name}: gateways alone`,
    )
    t.ok(policyTypes.includes('Egress'))
    t.strictSame(egress, [], `${name}: goes nowhere`)
  }
  const [callers, operators] = policyOf('gateway').ingress
  t.equal(callers?.from, undefined, 'callers are anywhere')
  const matchLabels = { 'tollgate/operators': 'true' }
  t.strictSame(operators?.from, [{ namespaceSelector: { matchLabels } }])
  t.match(text, 'kubectl label namespace monitoring tollgate/operators=true')
  t.end()
})

t.test('a gateway is asked for its readiness and its life where it tells them', (t) => {
  const gateway = podOf('gateway').container
  t.strictSame(gateway.readinessProbe.httpGet, { path: '/readyz', port: 'admin' })
  t.strictSame(gateway.livenessProbe.httpGet, { path: '/healthz', port: 'admin' })
  const backend = podOf('backend').container
  for (const probe of [backend.readinessProbe, backend.livenessProbe])
    t.strictSame(probe.httpGet, { path: '/healthz', port: 'http' })
  t.end()
})

t.test('there is time to leave the service, and then to stop', (t) => {
  const { container, terminationGracePeriodSeconds: seconds } = podOf('gateway')
  const [command, pause] = container.lifecycle?.preStop.exec.command ?? []
  t.equal(command, 'sleep')
  t.ok(seconds > Number(pause) + gatewayStops(read('etc/gateway.yaml')), `${seconds} s`)
  t.ok(podOf('backend').terminationGracePeriodSeconds > backendStops)
  t.end()
})

t.test('every name in an environment is read, and every secret is one that is made', (t) => {
  const known = {
    gateway: [...namesReadBy('gateway'), ...namesIn(read('etc/gateway.yaml'))],
    backend: namesReadBy('backend'),
    redis: ['REDISCLI_AUTH'],
  }
  const made = [...text.matchAll(/--from-literal=(\w+)=/g)].map(([, name]) => name)
  const taken = new Set<string>()
  for (const [name, names] of Object.entries(known)) {
    const { env } = podOf(name).container
    for (const { name: variable, valueFrom } of env) {
      const isPart = env.some(({ value }) => value?.includes(`$(${variable})`))
      t.ok(names.includes(variable) || isPart || name === 'redis', `${name}: ${variable}`)
      if (!valueFrom) continue
      t.equal(valueFrom.secretKeyRef.name, 'tollgate')
      taken.add(valueFrom.secretKeyRef.key)
    }
  }
  t.strictSame([...taken].sort(), made.sort())
  t.notOk(all('Secret').length, 'none is in a file that everybody has')
  t.end()
})

t.test('nobody is root, nothing is written but to volumes, SQLite has one process', (t) => {
  for (const { metadata } of all('Deployment')) {
    const { securityContext, container, volumes } = podOf(metadata.name)
    const user = { gateway: 1_000, backend: 1_000, redis: 999 }[metadata.name]
    t.match(securityContext, { runAsNonRoot: true, runAsUser: user }, metadata.name)
    t.match(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    t.strictSame(
      container.volumeMounts.map(({ name }) => name),
      volumes.map(({ name }) => name),
    )
    for (const { persistentVolumeClaim: claim } of volumes)
      if (claim) found('PersistentVolumeClaim', (claim as { claimName: string }).claimName)
  }
  t.equal(saidBy('runtime', 'USER')[0], '1000:1000')
  const [data] = podOf('backend').container.volumeMounts
  t.equal(data?.mountPath, saidBy('backend', 'VOLUME')[0])
  t.match(found('Deployment', 'backend').spec, { replicas: 1, strategy: { type: 'Recreate' } })
  t.equal(found('Deployment', 'gateway').spec.replicas, 2)
  t.end()
})
