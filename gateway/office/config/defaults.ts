import type { ConfigFile } from './file.ts'

/** A file with all its settings, in the form in which they are written. */
export type CompleteFile = ReturnType<typeof withDefaults>

type Plan = ConfigFile['plans'][string]
type Upstream = NonNullable<ConfigFile['upstreams']>[string]
type Target = Upstream['targets'][number]
type Route = ConfigFile['routes'][number]
type Portal = NonNullable<ConfigFile['portal']>
type Notices = NonNullable<ConfigFile['notices']>[number]
type Deprecation = NonNullable<ConfigFile['deprecations']>[number]

/**
 * Fills in the defaults, which are written nowhere else. It reads no values, because each may still be a `${NAME}`.
 */
export function withDefaults(file: ConfigFile) {
  return {
    ...(file.name === undefined ? {} : { name: file.name }),
    listen: { host: '127.0.0.1', port: 8080, ...file.listen },
    admin: { host: '127.0.0.1', port: 8081, hosts: [], save: false, ...file.admin },
    store: {
      file: 'data/gateway.db',
      redis: '',
      prefix: 'tollgate:',
      timeout: '50ms',
      whenUnreachable: 'local' as const,
      ...file.store,
    },
    plans: each(file.plans, completePlan),
    strangers: { perMinute: 60, perDay: 1_000, ...file.strangers },
    // Twenty strikes within a minute are a ban of five minutes, the next ones of up to an hour.
    bans: {
      strikes: 20,
      within: '1m',
      grace: '1s',
      for: '5m',
      factor: 2,
      atMost: '1h',
      memory: '24h',
      ...file.bans,
    },
    keys: { cache: 100_000, ...file.keys },
    upstreams: each(file.upstreams ?? {}, completeUpstream),
    routes: file.routes.map(completeRoute),
    deprecations: (file.deprecations ?? []).map(completeDeprecation),
    quota: { path: '/v1/quota', ...file.quota },
    usage: { path: '/v1/usage', routes: false, ...file.usage },
    ...(file.portal === undefined ? {} : { portal: completePortal(file.portal) }),
    headers: { ietf: false, near: [80, 95], ...file.headers },
    notices: (file.notices ?? []).map(completeNotices),
    traces: { to: '', sample: '5%', ...file.traces },
    workers: file.workers ?? 1,
    drain: file.drain ?? '3s',
    shutdown: file.shutdown ?? '15s',
    trustedProxies: file.trustedProxies ?? [],
    cors: { origins: [], ...file.cors },
  }
}

/** A plan in its one complete form: `custom` becomes `{ limits: custom }`. */
function completePlan(plan: Plan) {
  if (typeof plan === 'string') return { limits: plan, bans: 'on' as const }
  return { ...plan, bans: plan.bans ?? ('on' as const) }
}

function completeUpstream(upstream: Upstream) {
  return {
    ...upstream,
    targets: upstream.targets.map(completeTarget),
    swap: upstream.swap && completeSwap(upstream.swap),
    timeout: { connect: '1s', response: '10s', idle: '30s', request: '30s', ...upstream.timeout },
    health: { every: '2s', unhealthyAfter: 3, ...upstream.health },
    maxInFlight: upstream.maxInFlight ?? 1_000,
    fair: upstream.fair ?? ('on' as const),
    probes: upstream.probes ?? [],
  }
}

function completeSwap(swap: NonNullable<Upstream['swap']>) {
  return {
    ...swap,
    to: swap.to.map(completeTarget),
    steps: swap.steps ?? [1, 10, 50],
    every: swap.every ?? '5m',
    back: { errors: '1%', slower: 2, after: 100, callers: 3, ...swap.back },
  }
}

function completeTarget(target: Target) {
  if (typeof target === 'string') return { url: target, weight: 1 }
  return { ...target, weight: target.weight ?? 1 }
}

function completeRoute(route: Route) {
  return { ...route, cost: route.cost ?? 1, bodyLimit: route.bodyLimit ?? '1MiB' }
}

function completePortal(portal: Portal) {
  return { path: '/docs', rotate: 'off' as const, ...portal }
}

function completeNotices(notices: Notices) {
  return { about: ['*' as const], allow: [], ...notices }
}

function completeDeprecation(deprecation: Deprecation) {
  const { afterSunset = 'gone' as const, brownouts = [], extensions = [] } = deprecation
  return {
    ...deprecation,
    afterSunset,
    brownouts,
    extensions: extensions.map((each) => ({ ...each, spare: each.spare ?? false })),
  }
}

function each<Before, After>(
  members: Readonly<Record<string, Before>>,
  complete: (member: Before) => After,
): Record<string, After> {
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, complete(member)]),
  )
}
