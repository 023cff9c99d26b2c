import type { Config, Probe, Route, UpstreamSettings } from '../../front/config/config.ts'
import { pathExpression } from '../../front/http/paths.ts'
import { reach } from '../../front/forwarding/health.ts'
import { rewriter } from '../../front/forwarding/route-forwarding.ts'
import type { Target } from '../../front/forwarding/target.ts'
import { presentSecret, type SecretSource } from '../../../shared/signature.ts'
import type { CheckSide } from '../../front/swaps/swaps.ts'
import { mostBytes, replyOf, targetBeside, type Reply } from './reply.ts'
import { shapeBreaks, typeBreak } from './shape.ts'

/** The result of one probe, with the differences that would break callers. */
export type Finding = Readonly<{
  probe: string
  expected: string
  got: string
  milliseconds: number
  breaks: readonly string[]
  /** Whether the whole comparison, with the present backend or with the probe's own status, was possible. */
  compared: boolean
  /** The part that was not compared, and why. */
  note?: string
  /** Whether only a signed request could be judged. */
  needsSignature?: true
}>

/** All findings about a candidate backend. */
export type Check = Readonly<{
  /** The URL of the present backend, for comparison. */
  present: string
  /** Whether everything was compared, and nothing would break. */
  fit: boolean
  findings: readonly Finding[]
}>

export type ProbeOptions = Readonly<{
  config: Config
  upstream: UpstreamSettings
  secret: string | undefined
  /** Whether the candidate may get what is signed: a signature opens the present backend as well, for a minute. */
  isTrusted: boolean
  /** Whether the gateway may sign with a secret that isn't known here: then only it can judge. */
  mayBeSigned?: boolean
}>

/**
 * Sends the same requests to a candidate backend and to the present one, and reports the differences for
 * callers. The requests are the health check and the configured probes, which change nothing. A candidate is asked
 * without a signature first: it gets none unless it refuses that.
 */
export async function holdAgainst(url: string, options: ProbeOptions): Promise<Check> {
  const { upstream, config, secret, isTrusted, mayBeSigned = false } = options
  const presentUrl = upstream.targets[0]?.url ?? url
  const candidate = targetBeside(url, upstream)
  const present = targetBeside(presentUrl, upstream)
  const ask = (target: Target, probe: Probe, signedWith: string | undefined): Promise<Reply> => {
    const behind = { method: probe.method, target: pathBehind(probe, config, upstream) }
    return replyOf(target, behind, {
      secret: signedWith,
      timeoutMs: upstream.timeouts.responseMs,
    })
  }
  const findings: Finding[] = []
  try {
    const { path } = upstream.health
    if (path === undefined) findings.push(await connected(candidate))
    else {
      const probe = { method: 'GET', target: path }
      const reply = await replyOf(candidate, probe, { secret: undefined, timeoutMs: 2_000 })
      const isFit = reply.status >= 200 && reply.status < 300
      findings.push(
        finding(`GET ${path}`, 'a 2xx', reply, isFit ? [] : ['it would be marked unhealthy']),
      )
    }
    const [first] = upstream.probes
    const unsigned = secret && first ? await ask(candidate, first, undefined) : undefined
    if (unsigned && first) {
      findings.push(
        finding(`${nameOf(first)}, not signed`, '403', unsigned, unsignedBreaks(unsigned)),
      )
    }
    const isRefused = unsigned?.status === 403
    for (const probe of upstream.probes) {
      const [reply, now] = await Promise.all([
        ask(candidate, probe, isTrusted && isRefused ? secret : undefined),
        ask(present, probe, secret),
      ])
      const unjudged = mayBeSigned && !secret ? unjudgedAs(probe, reply, now) : undefined
      const result = unjudged ?? compared(probe, reply, now, presentUrl)
      const isHeldBack = isRefused && !isTrusted && reply.status === 403
      findings.push(
        isHeldBack ? { ...result, breaks: [], compared: false, note: heldBack } : result,
      )
    }
  } finally {
    await Promise.all([candidate.pool.destroy(), present.pool.destroy()])
  }
  const lacksHeaders = upstream.headers !== undefined && candidate.headers === undefined
  const all = lacksHeaders ? findings.map(withoutHeaders) : findings
  const fit = all.every(({ breaks, compared }) => compared && breaks.length === 0)
  return { present: presentUrl, fit, findings: all }
}

/** A finding about a candidate that wasn't sent `forward.headers`. Where it asks for a credential, nothing is known. */
function withoutHeaders(result: Finding): Finding {
  const isUnknown = result.breaks.length > 0 && /^40[13]$/.test(result.got)
  return isUnknown ? { ...result, breaks: [], compared: false, note: keptBack } : result
}

/** Checks that the backend refused a request without a signature. */
function unsignedBreaks({ status }: Reply): string[] {
  if (status === 0) return [noAnswer]
  return status === 403 ? [] : ['anybody who reaches it is believed to be the gateway']
}

function nameOf({ method, target }: Probe): string {
  return `${method} ${target}`
}

/** The path of a probe at the backend, after the route's rewrite. */
function pathBehind({ method, target }: Probe, config: Config, upstream: UpstreamSettings): string {
  const [path = ''] = target.split('?', 1)
  const leads = (route: Route): boolean =>
    route.upstream === upstream.name &&
    route.methods.includes(method) &&
    pathExpression(route.path).test(path)
  const route = config.routes.find(leads)
  return route ? rewriter(route)(path) + target.slice(path.length) : target
}

/** The health check without a path: a connection. */
async function connected(target: Target): Promise<Finding> {
  const started = performance.now()
  const why = await reach(target).then(
    () => undefined,
    (error: Error) => error.message,
  )
  const milliseconds = Math.round(performance.now() - started)
  const breaks = why === undefined ? [] : ['it would be marked unhealthy']
  return {
    probe: 'a connection',
    expected: 'accepted',
    got: why ?? 'accepted',
    milliseconds,
    breaks,
    compared: true,
  }
}

/** The finding about a probe that one of both refuses for its missing signature. */
function unjudgedAs(probe: Probe, reply: Reply, now: Reply): Finding | undefined {
  if (reply.status === 0 || !(reply.wantsSignature || now.wantsSignature)) return undefined
  const who = reply.wantsSignature ? 'it' : 'the present backend'
  const note = `can’t be judged: ${who} takes only what the gateway signs`
  const uncompared = finding(nameOf(probe), 'the answer to a signed request', reply, [])
  return { ...uncompared, compared: false, note, needsSignature: true }
}

function compared(probe: Probe, reply: Reply, now: Reply, present: string): Finding {
  const wanted = probe.status ?? (now.status || undefined)
  const breaks: string[] = []
  if (reply.status === 0) breaks.push(noAnswer)
  else if (reply.wantsSignature) breaks.push(`it takes nothing unsigned: ${needed}`)
  else if (now.wantsSignature) breaks.push(`the present backend takes nothing unsigned: ${needed}`)
  else if (wanted !== undefined && reply.status !== wanted)
    breaks.push(`the status is not ${wanted}`)
  else if (now.status === reply.status) {
    const fault = typeBreak(now.type, reply.type)
    if (fault) breaks.push(fault)
    else if (now.body !== undefined && reply.body !== undefined)
      breaks.push(...shapeBreaks(now.body, reply.body))
  }
  const like =
    now.status === 0
      ? 'the present backend does not answer'
      : now.wantsSignature
        ? 'the answer to a signed request'
        : `${now.status}, as now`
  const expected = probe.status === undefined ? like : String(probe.status)
  const result = finding(nameOf(probe), expected, reply, breaks)
  if (now.status !== 0) {
    const isUnread = [now, reply].some(({ body }) => body === undefined)
    return isUnread ? { ...result, note: unread } : result
  }
  const absent = `the present backend ${present} does not answer (${now.error})`
  return probe.status === undefined
    ? { ...result, compared: false, note: `not compared: ${absent}` }
    : { ...result, note: `type and body are not compared: ${absent}` }
}

const noAnswer = 'it does not answer'
const unread = `the body is not compared: it is over ${mostBytes / 1_024} KiB, or in an unknown encoding`
const heldBack =
  'not compared: it takes nothing unsigned, and only the role all may send our signature to an address that is no target of the configuration'
const keptBack = 'not compared: forward.headers go only to targets that the upstream names'
const needed = 'set GATEWAY_SECRET to the secret that gateway and backend share'

function finding(
  probe: string,
  expected: string,
  reply: Reply,
  breaks: readonly string[],
): Finding {
  const { error, status, milliseconds } = reply
  return { probe, expected, got: error ?? String(status), milliseconds, breaks, compared: true }
}

/** The check with which a swap begins, as `tollgate upstream check` makes it. */
export function checkFor(source: SecretSource): CheckSide {
  return async (config, upstream) => {
    const secret = presentSecret(source)
    for (const { url } of upstream.swap?.to ?? []) {
      const { findings } = await holdAgainst(url, { config, upstream, secret, isTrusted: true })
      const broken = findings.find(({ breaks }) => breaks.length > 0)
      if (broken) return `${url} would break ${broken.probe}: ${broken.breaks.join('; ')}`
    }
    return undefined
  }
}
