/** The most points in a minute and in a day; `null` is unlimited. */
export type Limits = Readonly<{ perMinute: number | null; perDay: number | null }>

export type Plan = Readonly<{
  name: string
  /** `null`: each key brings its own. */
  limits: Limits | null
  bans: boolean
  methods: readonly string[] | null
  paths: readonly string[] | null
}>

export type Deprecation = Readonly<{
  operation: string
  since: string
  sunset: string | null
  replacement: string | null
  docs: string | null
  afterSunset: 'gone' | 'serve'
  brownouts: readonly Readonly<{ from: string; to: string }>[]
}>

/** The terms of the gateway's configuration in force. */
export type Terms = Readonly<{
  /** The path of this page, as the gateway knows it. */
  path: string
  quotaPath: string
  usagePath: string
  rotatePath: string | null
  plans: readonly Plan[]
  strangers: Limits
  /** The percentage of a day from which answers tell that it is nearly used up; `null` if they never do. */
  nearPercent: number | null
  bans: Readonly<{
    strikes: number
    withinMs: number
    graceMs: number
    forMs: number
    atMostMs: number
  }>
  routes: readonly Readonly<{ path: string; methods: readonly string[]; cost: number }>[]
  deprecations: readonly Deprecation[]
}>

/** The points that a request costs; `undefined` for a path without a route, which the gateway answers itself. */
export function costOf(terms: Terms, method: string, path: string): number | undefined {
  if ([terms.quotaPath, terms.usagePath, terms.rotatePath].includes(path)) return 0
  const fitting = terms.routes.filter(
    (route) => route.methods.includes(method) && isBelow(route.path, path),
  )
  return [...fitting].sort((one, other) => rank(other.path) - rank(one.path))[0]?.cost
}

/** The deprecation of an operation; HEAD goes with GET. */
export function deprecationOf(terms: Terms, method: string, path: string): Deprecation | undefined {
  const listed = method === 'HEAD' ? 'GET' : method
  return terms.deprecations.find(({ operation }) => {
    const [of = '', pattern = ''] = operation.split(' ')
    return of === listed && isBelow(pattern, path)
  })
}

/** Whether a path of the document fits a pattern of the configuration, segment by segment; names don't matter. */
function isBelow(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  if (wanted.at(-1) === '*') {
    const fixed = wanted.slice(0, -1)
    return given.length >= wanted.length && fixed.every((part, i) => fits(part, given[i]))
  }
  return wanted.length === given.length && wanted.every((part, i) => fits(part, given[i]))
}

function fits(part: string, segment: string | undefined): boolean {
  return part.startsWith('{') || part === segment
}

/** An exact path before one with names, and that before everything below. */
function rank(path: string): number {
  return path.split('/').reduce((sum, part) => {
    return sum * 3 + (part === '*' ? 0 : part.startsWith('{') ? 1 : 2)
  }, 0)
}
