import { randomUUID } from 'node:crypto'
import { signatureHeader, signatureRefused, signer } from '../../shared/signature.ts'
import type { Config, Probe, Route, UpstreamSettings } from '../config/config.ts'
import { pathExpression } from '../http/paths.ts'
import { TargetMeter } from '../records/meters.ts'
import { reach } from './health.ts'
import { Target } from './target.ts'

/** What one probe has found: what was expected, what came, and what of it would break callers. */
export type Finding = Readonly<{
  probe: string
  expected: string
  got: string
  milliseconds: number
  breaks: readonly string[]
  /** Whether all that should be compared with the present backend, or with the probe's own status, was. */
  compared: boolean
  /** The part that was not compared, and why; the rest was. */
  note?: string
}>

/** All findings about a would-be backend. */
export type Comparison = Readonly<{
  /** The URL of the present backend that was asked. */
  present: string
  /** Whether everything was compared, and nothing would break. */
  fit: boolean
  findings: readonly Finding[]
}>

export type ProbeOptions = Readonly<{
  config: Config
  upstream: UpstreamSettings
  secret: string | undefined
}>

type Reply = Readonly<{
  status: number
  type: string
  body: string
  milliseconds: number
  /** Whether it is the answer of a backend that takes nothing that isn't signed with its secret. */
  wantsSignature: boolean
  error?: string
}>

/**
 * Asks a would-be backend what callers ask, beside the one that serves them now, and tells what would
 * be different for them. Only what changes nothing is asked: health, and the probes as configured.
 */
export async function holdAgainst(url: string, options: ProbeOptions): Promise<Comparison> {
  const { upstream, config, secret } = options
  const presentUrl = upstream.targets[0]?.url ?? url
  const wouldBe = targetAt(url, upstream)
  const present = targetAt(presentUrl, upstream)
  const ask = (target: Target, probe: Probe, isSigned = true): Promise<Reply> =>
    request(target, probe.method, pathBehind(probe, config, upstream), {
      secret: isSigned ? secret : undefined,
      timeoutMs: upstream.timeouts.responseMs,
    })
  const findings: Finding[] = []
  try {
    const { path } = upstream.health
    if (path === undefined) findings.push(await connected(wouldBe))
    else {
      const reply = await request(wouldBe, 'GET', path, { secret: undefined, timeoutMs: 2_000 })
      const isFit = reply.status >= 200 && reply.status < 300
      findings.push(finding(`GET ${path}`, 'a 2xx', reply, isFit ? [] : ['it would be taken out']))
    }
    for (const probe of upstream.probes) {
      const [reply, now] = await Promise.all([ask(wouldBe, probe), ask(present, probe)])
      findings.push(compared(probe, reply, now, presentUrl))
    }
    const [first] = upstream.probes
    if (secret && first) {
      const reply = await ask(wouldBe, first, false)
      findings.push(finding('the same, not signed', '403', reply, unsignedBreaks(reply)))
    }
  } finally {
    await Promise.all([wouldBe.pool.destroy(), present.pool.destroy()])
  }
  const fit = findings.every(({ breaks, compared }) => compared && breaks.length === 0)
  return { present: presentUrl, fit, findings }
}

/** A backend that was asked without a signature should refuse. */
function unsignedBreaks({ status }: Reply): string[] {
  if (status === 0) return [noAnswer]
  return status === 403 ? [] : ['anybody who reaches it is believed to be the gateway']
}

/** Where a caller's path leads behind the gateway. */
function pathBehind({ method, target }: Probe, config: Config, upstream: UpstreamSettings): string {
  const [path = ''] = target.split('?', 1)
  const leads = (route: Route): boolean =>
    route.upstream === upstream.name &&
    route.methods.includes(method) &&
    pathExpression(route.path).test(path)
  const rewritten = config.routes.find(leads)
  if (rewritten?.rewrite === undefined) return target
  return rewritten.rewrite.slice(0, -1) + target.slice(rewritten.path.length - 1)
}

function targetAt(url: string, { timeouts, health, ca }: UpstreamSettings): Target {
  const settings = { url, weight: 1 }
  return new Target({
    settings,
    timeouts,
    health,
    ca,
    meter: new TargetMeter(),
    changed: () => undefined,
    suspected: () => undefined,
  })
}

async function request(
  target: Target,
  method: string,
  path: string,
  { secret, timeoutMs }: { secret: string | undefined; timeoutMs: number },
): Promise<Reply> {
  const requestId = randomUUID()
  const signed = { method, target: path, callerId: 'probe', plan: 'probe', requestId }
  const headers = {
    'x-request-id': requestId,
    'x-caller-id': signed.callerId,
    'x-caller-plan': signed.plan,
    ...(secret ? { [signatureHeader]: signer(secret)(signed, Date.now()) } : {}),
  }
  const started = performance.now()
  const took = (): number => Math.round(performance.now() - started)
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const answer = await target.pool.request({ method: method, path, headers, signal })
    const body = await answer.body.text()
    const type = String(answer.headers['content-type'] ?? 'none')
    const wantsSignature = answer.headers[signatureHeader] === signatureRefused
    return { status: answer.statusCode, type, body, milliseconds: took(), wantsSignature }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const nothing = { status: 0, type: 'none', body: '', wantsSignature: false }
    return { ...nothing, milliseconds: took(), error: why }
  }
}

/** Without a path to ask for, health is whether it can be connected to, here as elsewhere. */
async function connected(target: Target): Promise<Finding> {
  const started = performance.now()
  const why = await reach(target).then(
    () => undefined,
    (error: Error) => error.message,
  )
  const milliseconds = Math.round(performance.now() - started)
  const breaks = why === undefined ? [] : ['it would be taken out']
  return {
    ...{ probe: 'a connection', expected: 'accepted', got: why ?? 'accepted' },
    milliseconds,
    breaks,
    compared: true,
  }
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
    else breaks.push(...shapeBreaks(now.body, reply.body))
  }
  const like =
    now.status === 0
      ? 'the present backend does not answer'
      : now.wantsSignature
        ? 'what it answers when it is signed'
        : `${now.status}, as now`
  const expected = probe.status === undefined ? like : String(probe.status)
  const found = finding(`${probe.method} ${probe.target}`, expected, reply, breaks)
  if (now.status !== 0) return found
  const absent = `the present backend ${present} does not answer (${now.error})`
  return probe.status === undefined
    ? { ...found, compared: false, note: `not compared: ${absent}` }
    : { ...found, note: `type and body are not compared: ${absent}` }
}

const noAnswer = 'it does not answer'
const needed = 'set GATEWAY_SECRET to the secret that gateway and backend share'

/**
 * How a client would notice another media type. JSON has no charset, and text without one is UTF-8 to whoever
 * reads it today; other parameters say nothing of how to read a body.
 */
function typeBreak(before: string, after: string): string | undefined {
  const [old, now] = [mediaType(before), mediaType(after)]
  if (old.name !== now.name) return `the type is ${now.name}, not ${old.name}`
  if (old.charset !== now.charset) return `the charset is ${now.charset}, not ${old.charset}`
  return undefined
}

function mediaType(text: string): { name: string; charset: string } {
  const [name = '', ...parameters] = text.toLowerCase().split(';')
  const charset = parameters.map((each) => /^\s*charset\s*=\s*"?([^"\s]+)/.exec(each)?.[1])
  return { name: name.trim(), charset: charset.find(Boolean) ?? 'utf-8' }
}

function finding(
  probe: string,
  expected: string,
  reply: Reply,
  breaks: readonly string[],
): Finding {
  const { error, status, milliseconds } = reply
  return { probe, expected, got: error ?? String(status), milliseconds, breaks, compared: true }
}

/** What a JSON answer no longer has that the one before it had. */
function shapeBreaks(before: string, after: string): string[] {
  const [old, now] = [shapeOf(before), shapeOf(after)]
  if (!old || !now) return old ? ['the body is no JSON'] : []
  // An empty list tells nothing of what would be in it.
  return [...old]
    .filter(([place]) => now.has(parentOf(place)) || place === '')
    .filter(([place, types]) => now.get(place) !== types)
    .map(([place, types]) => {
      const found = now.get(place)
      const name = place === '' ? 'the body' : place
      return found === undefined ? `${name} is missing` : `${name} is ${found}, not ${types}`
    })
}

/** The types of all members, by their places. */
function shapeOf(text: string): Map<string, string> | undefined {
  const shape = new Map<string, string>()
  const look = (value: unknown, place: string): void => {
    if (Array.isArray(value)) {
      shape.set(place, 'a list')
      for (const each of value.slice(0, 20)) look(each, `${place}[]`)
    } else if (typeof value === 'object' && value !== null) {
      shape.set(place, 'an object')
      for (const [name, member] of Object.entries(value)) look(member, `${place}.${name}`)
    } else shape.set(place, value === null ? 'null' : `a ${typeof value}`)
  }
  try {
    look(JSON.parse(text), '')
  } catch {
    return undefined
  }
  return shape
}

function parentOf(place: string): string {
  return place.replace(/(?:\.[^.[\]]+|\[\])$/, '')
}
