import { availableParallelism } from 'node:os'
import type { Deprecation } from '../../front/config/deprecations.ts'
import { ietfDrafts, type IetfDraft } from '../../front/limits/headers.ts'
import { limitOf } from '../../front/limits/limits.ts'
import { planLimits, type Plan, type PlanOperation } from '../../front/limits/plan.ts'
import { limitFrom, limitsFrom } from '../../front/limits/limit-settings.ts'
import { shadowOf } from '../../front/limits/shadow.ts'
import { costTerms } from '../../front/limits/answer-cost.ts'
import type { BanSettings } from '../../front/limits/conduct.ts'
import type {
  Config,
  RedisSettings,
  Route,
  SwapSettings,
  TraceSettings,
  TrustSettings,
  UpstreamSettings,
} from '../../front/config/config.ts'
import { noUpstream } from '../../front/config/asking.ts'
import { claimPath, defaultPrefix, type JwtSettings } from '../../front/jwt/settings.ts'
import { methodsOf, withHead } from '../../front/http/methods.ts'
import { secretsIn } from '../notices/signature.ts'
import { isLoopback } from '../../../shared/serve.ts'
import { durationFrom, instantFrom, sizeFrom } from '../../../shared/units.ts'
import { byLimit } from '../../../shared/windows.ts'
import type { CompleteFile } from './defaults.ts'

/** Reads files that the configuration names: key sets, and an OpenAPI document as JSON. */
export type ReadFiles = Readonly<{
  keySet: (file: string) => string
  document: (file: string) => string
}>

/** Turns the texts of a complete file that has been checked into values. */
export function configFrom(file: CompleteFile, read: ReadFiles): Omit<Config, 'hash'> {
  const { listen, admin, decide, store, cors, portal } = file
  return {
    name: file.name,
    listen,
    admin: { ...admin, save: admin.save ?? savesByDefault(file), trust: trustFrom(admin) },
    decide: decide && { ...decide, token: decide.token },
    store: {
      file: store.file,
      redis: redisFrom(store.redis),
      prefix: store.prefix,
      timeoutMs: duration(store.timeout),
      whenUnreachable: store.whenUnreachable,
    },
    plans: plansFrom(file.plans),
    strangers: limitsFrom(file.strangers),
    bans: bansFrom(file.bans),
    keys: { ...file.keys, from: file.keys.from.map((name) => name.toLowerCase()) },
    jwt: file.jwt.map((issuer) => jwtFrom(issuer, read)),
    upstreams: new Map(
      Object.entries(file.upstreams).map(([name, written]) => [name, upstreamFrom(name, written)]),
    ),
    quotaPath: file.quota === 'off' ? undefined : file.quota.path,
    usagePath: file.usage === 'off' ? undefined : file.usage.path,
    tickets: file.tickets === 'on',
    portal: portal && {
      path: portal.path,
      document: read.document(portal.openapi),
    },
    ietf: draftOf(file.headers.ietf),
    via: file.via === 'off' ? undefined : file.via,
    nearPercents: [...file.headers.near].sort((one, other) => one - other),
    routes: routesFrom(file.routes),
    deprecations: file.deprecations.map(deprecationFrom),
    notices: file.notices.map(({ secret, ...entry }) => ({
      ...entry,
      secrets: secretsIn(secret),
    })),
    trustedProxies: file.trustedProxies,
    cors,
    traces: tracesFrom(file.traces),
    workers: file.workers === 'auto' ? availableParallelism() : file.workers,
    drainMs: duration(file.drain),
    shutdownMs: duration(file.shutdown),
  }
}

function trustFrom({ trust }: CompleteFile['admin']): TrustSettings | undefined {
  if (!trust) return undefined
  const { from, header, roles } = trust
  return { from, header: header.toLowerCase(), roles: new Map(Object.entries(roles)) }
}

/** Whether operators may save the file unless it says so: where it is one gateway's own, and nobody asks from elsewhere. */
function savesByDefault({ admin, store }: CompleteFile): boolean {
  return store.redis === '' && isLoopback(admin.host)
}

/** The draft that `headers.ietf` means: `true` is the newest. */
export function draftOf(ietf: CompleteFile['headers']['ietf']): IetfDraft | undefined {
  return typeof ietf === 'string' ? ietf : ietf ? ietfDrafts.at(-1) : undefined
}

/** The routes of a file, each with its methods. */
export function routesFrom(written: CompleteFile['routes']): Route[] {
  const methods = methodsOf(written)
  const stripped = new Set(written.filter(({ rewrite }) => rewrite === '/').map(placeOf))
  return written.map(({ path, upstream, cost, rewrite, bodyLimit, scopes, errors }, i) => ({
    path,
    upstream,
    ...costFrom(upstream, cost),
    methods: methods[i] ?? [],
    scopes: scopes && scopesByMethod(scopes, methods[i] ?? []),
    rewrite: rewrite ?? (stripped.has(placeOf({ path: `${path}/*`, upstream })) ? '/' : undefined),
    bodyLimit: sizeFrom(bodyLimit) ?? 0,
    errors: errors === 'on',
  }))
}

/** A route that is only decided is never told what its answer costs: the estimate stands. */
function costFrom(upstream: string, cost: CompleteFile['routes'][number]['cost']) {
  if (typeof cost === 'number') return costTerms(cost)
  if (upstream === noUpstream) return costTerms(cost.estimate)
  const { drain } = cost
  const bounds = drain && { timeMs: duration(drain.time), bytes: sizeFrom(drain.size) ?? 0 }
  return costTerms({ ...cost, drain: bounds })
}

/** The scopes that the methods of a route need, without those that need none. HEAD goes with GET. */
function scopesByMethod(scopes: WrittenScopes, methods: readonly string[]): Route['scopes'] {
  const named = new Map(Object.entries(isForAll(scopes) ? { '*': scopes } : scopes))
  const scopesOf = (method: string): readonly string[] | undefined =>
    named.get(method) ?? (method === 'HEAD' ? named.get('GET') : undefined) ?? named.get('*')
  const needed = methods.flatMap((method) => {
    const all = scopesOf(method) ?? []
    return all.length > 0 ? [[method, all] as const] : []
  })
  return needed.length > 0 ? new Map(needed) : undefined
}

type WrittenScopes = NonNullable<CompleteFile['routes'][number]['scopes']>

function isForAll(scopes: WrittenScopes): scopes is readonly string[] {
  return Array.isArray(scopes)
}

function placeOf({ path, upstream }: Readonly<{ path: string; upstream: string }>): string {
  return `${upstream} ${path}`
}

/** The plans of a file, by name. */
export function plansFrom(plans: CompleteFile['plans']): ReadonlyMap<string, Plan> {
  return new Map(Object.entries(plans).map(([name, plan]) => [name, planFrom(name, plan)]))
}

function planFrom(name: string, plan: CompleteFile['plans'][string]): Plan {
  const ofLimits = 'limits' in plan ? { limits: plan.limits } : planLimits(plan)
  const { limits } = ofLimits
  const { bans, methods, paths, operations } = plan
  const all = {
    ...ofLimits,
    ...{ name, bans: bans === 'on', methods: methods && withHead(methods), paths },
    operations: operations && Object.entries(operations).map(operationFrom),
  }
  if (limits === 'custom' || !('shadow' in plan) || !plan.shadow) return all
  const { shadow } = plan
  const lower = byLimit((window) => limitFrom(shadow[window.limit]) ?? limitOf(limits, window))
  return { ...all, shadow: shadowOf(name, lower) }
}

function operationFrom([name, operation]: [string, OperationOfFile]): PlanOperation {
  const { methods, paths, ...limits } = operation
  return { name, limits: limitsFrom(limits), methods: methods && withHead(methods), paths }
}

type OperationOfFile = NonNullable<CompleteFile['plans'][string]['operations']>[string]

function bansFrom(bans: CompleteFile['bans']): BanSettings {
  const { strikes } = bans
  return {
    strikes: typeof strikes === 'number' ? strikes : { percent: Number.parseInt(strikes, 10) },
    withinMs: duration(bans.within),
    graceMs: duration(bans.grace),
    forMs: duration(bans.for),
    factor: bans.factor,
    atMostMs: duration(bans.atMost),
    memoryMs: duration(bans.memory),
  }
}

function upstreamFrom(name: string, written: CompleteFile['upstreams'][string]): UpstreamSettings {
  const { targets, swap, timeout, health, maxInFlight, fair, forward, tls, probes } = written
  return {
    name,
    targets,
    swap: swap && swapFrom(swap),
    timeouts: {
      connectMs: duration(timeout.connect),
      responseMs: duration(timeout.response),
      idleMs: duration(timeout.idle),
      requestMs: duration(timeout.request),
    },
    health: {
      path: health.path,
      everyMs: duration(health.every),
      unhealthyAfter: health.unhealthyAfter,
    },
    maxInFlight,
    isFair: fair === 'on',
    passesCookies: forward.cookies === 'on',
    passesHost: forward.host === 'caller',
    headers: forward.headers,
    tls,
    probes: probes.map(({ request, status }) => {
      const [method = '', target = ''] = request.split(' ')
      return { method, target, status }
    }),
  }
}

function jwtFrom(written: CompleteFile['jwt'][number], read: ReadFiles): JwtSettings {
  const { issuer, audience, claims = {}, keys, algorithms, maxCallers, allow } = written
  const { subject, name, account, plan, scopes, forward = {} } = written
  const isUrl = /^https?:/i.test(keys)
  const { claim, is } = 'claim' in plan ? plan : { claim: undefined, is: {} }
  return {
    ...{ issuer, algorithms, maxCallers },
    audience: audience === 'none' ? undefined : audience,
    claims: Object.entries(claims).map(([claim, texts]) => {
      return { claim: claimPath(claim), texts: [texts].flat() }
    }),
    subject: claimPath(subject),
    name: name === undefined ? undefined : claimPath(name),
    account: account && {
      claim: claimPath(account.claim),
      prefix: account.prefix ?? defaultPrefix(issuer),
    },
    keys: isUrl ? { url: keys, allow } : { file: keys, text: read.keySet(keys) },
    plan: {
      claim: claim === undefined ? undefined : claimPath(claim),
      is: new Map(Object.entries(is)),
      otherwise: plan.else,
    },
    scopes: scopes === undefined ? undefined : claimPath(scopes),
    forward: Object.entries(forward)
      .map(([header, claim]) => [header.toLowerCase(), claimPath(claim)] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  }
}

function tracesFrom({ to, sample }: CompleteFile['traces']): TraceSettings | undefined {
  const share = shareFrom(sample)
  return to === '' || share === 0 ? undefined : { to, sample: share }
}

function shareFrom(share: string | number): number {
  return Number.parseFloat(String(share)) / 100
}

function swapFrom({
  to,
  steps,
  for: hold = '5m',
  every = hold,
  methods,
  back,
}: NonNullable<CompleteFile['upstreams'][string]['swap']>): SwapSettings {
  return {
    to,
    steps: steps.map((step) => Number.parseFloat(String(step))),
    everyMs: duration(every),
    methods: methods && withHead(methods),
    back: { ...back, errors: shareFrom(back.errors) },
  }
}

function deprecationFrom(written: CompleteFile['deprecations'][number]): Deprecation {
  const { operation, since, sunset, replacement, docs, afterSunset, brownouts } = written
  const extensions = written.extensions.map(({ until, spare, ...holder }) => {
    return { ...holder, untilMs: instant(until), spare }
  })
  return {
    operation,
    sinceMs: instant(since),
    sunsetMs: sunset === undefined ? undefined : instant(sunset),
    replacement,
    docs,
    afterSunset,
    brownouts: brownouts.map(({ from, to }) => ({ fromMs: instant(from), toMs: instant(to) })),
    extensions,
  }
}

function redisFrom(redis: CompleteFile['store']['redis']): RedisSettings | undefined {
  if (redis === '') return undefined
  return typeof redis === 'string' ? { url: redis } : redis
}

function duration(text: string): number {
  return durationFrom(text) ?? 0
}

function instant(text: string): number {
  return instantFrom(text) ?? 0
}
