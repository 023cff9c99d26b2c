import { counted } from '../../../../shared/commas.ts'
import { secretFault } from '../../../../shared/signature.ts'
import { socketPathOf } from '../../../../shared/unix-socket.ts'
import type { Config, UpstreamSettings } from '../../../front/config/config.ts'
import { isTargetUrl, originOf, targetForm } from '../../../front/forwarding/target-url.ts'
import type { Check, Finding } from '../../probe/probe.ts'
import type { CommandContext } from '../context.ts'
import { KeyMistake } from '../../../front/keys/mistake.ts'
import { ofText } from '../kinds.ts'
import { operation, WrongInput } from '../operation.ts'
import { argument, textOf, valueOf } from '../parameters.ts'
import { aligned, type Cell } from '../table.ts'

const targetUrl = ofText(targetForm, (text) => (isTargetUrl(text) ? text : undefined))

export type CheckedUpstream = Check & Readonly<{ url: string; upstream: string }>

export const checkUpstream = operation({
  name: 'upstream check',
  at: ['POST /admin/upstreams/check'],
  summary: 'Compare a new backend with the present one',
  details:
    'Sends the health check and the probes of the upstream to the new backend, and lists what callers would find ' +
    'different: a status, a media type, a missing member. It sends GET, HEAD and OPTIONS only. With ADMIN_TOKEN the running ' +
    'gateway is asked to do it, which signs; with GATEWAY_SECRET the command signs. Exit code 1 if anything would break, or ' +
    'could not be judged: without a signature, or because the present backend does not answer.',
  parameters: {
    url: { ...valueOf(targetUrl, 'URL', 'the address of the new backend'), ...argument },
    upstream: textOf('NAME', 'the upstream, if there are several'),
  },
  role: 'support',
  isAlone: true,
  run: async (context, { url, upstream: name }): Promise<CheckedUpstream> => {
    const { config, secret, operator, stores, clock, inForce, askSigner } = context
    const upstream = chosenUpstream(config, name)
    if (askSigner) {
      const body = JSON.stringify({ url, upstream: upstream.name })
      const headers = { 'content-type': 'application/json' }
      // The other side is this operation, in a gateway.
      return (await askSigner('POST /admin/upstreams/check', { body, headers })) as CheckedUpstream
    }
    const fault = secretFault(secret)
    if (fault) throw new WrongInput(fault)
    const isTrusted = (operator?.role ?? 'all') === 'all' || isTarget(url, config)
    if (!isTrusted && socketPathOf(url) !== undefined)
      throw new KeyMistake(foreignSocket, 'forbidden')
    if (operator) {
      const about = { subject: upstream.name, before: null, after: { url } }
      const entry = { atMs: clock(), by: operator.name, what: 'upstreams.check', ...about }
      await stores().audit.add(entry)
    }
    // Loads undici, which no other command needs.
    const { holdAgainst } = await import('../../probe/probe.ts')
    const mayBeSigned = inForce === undefined
    const options = { config, upstream, secret, isTrusted, mayBeSigned }
    const comparison = await holdAgainst(url, options)
    return { url, upstream: upstream.name, ...comparison }
  },
  isRefused: ({ fit }) => !fit,
  text: (checked, context) =>
    [
      aligned([['PROBE', 'EXPECTED', 'GOT', 'MS', 'WOULD BREAK'], ...checked.findings.map(row)]),
      '',
      ...verdict(checked),
      ...remedy(checked, context),
    ].join('\n'),
})

const foreignSocket =
  'Only the role all may have a Unix socket asked that is no target of the configuration.'

/** The named upstream, or the only one. */
function chosenUpstream({ upstreams }: Config, named: string | undefined): UpstreamSettings {
  const names = [...upstreams.keys()]
  const name = named ?? (names.length === 1 ? names[0] : undefined)
  if (name === undefined) throw new WrongInput(`upstream must be one of ${names.join(', ')}`)
  const upstream = upstreams.get(name)
  if (upstream) return upstream
  throw new WrongInput(`there is no upstream "${name}"; there are ${names.join(', ')}`)
}

/** Whether the configuration names an address, as a target or as one to swap to. */
function isTarget(url: string, { upstreams }: Config): boolean {
  const named = [...upstreams.values()].flatMap(({ targets, swap }) => [
    ...targets,
    ...(swap?.to ?? []),
  ])
  return named.some((target) => originOf(target.url) === originOf(url))
}

function row({ probe, expected, got, milliseconds, breaks, note }: Finding): Cell[] {
  const remarks = [...breaks, ...(note === undefined ? [] : [note])].join('; ')
  return [probe, expected, got, milliseconds, remarks || '-']
}

/** Whether the backend can serve, in a sentence or two. */
function verdict({ url, upstream, fit, findings }: CheckedUpstream): string[] {
  const all = counted(findings.length, 'probe')
  if (fit) return [`${url} can serve the upstream ${upstream}: ${all}, nothing breaks.`]
  const broken = findings.filter(({ breaks }) => breaks.length > 0).length
  const unjudged = findings.filter(({ needsSignature }) => needsSignature).length
  const uncompared = findings.filter(({ compared }) => !compared).length - unjudged
  return [
    ...(broken > 0 ? [`${url} would break ${broken} of ${all}.`] : []),
    ...(unjudged > 0
      ? [
          `${unjudged} of ${all} can’t be judged without a signature. Set ADMIN_TOKEN here, so that the running gateway ` +
            'is asked, or GATEWAY_SECRET to the secret that gateway and backend share.',
        ]
      : []),
    ...(uncompared > 0 ? [`Nothing was compared in ${uncompared} of ${all}.`] : []),
  ]
}

/** Advice about a present backend that does not answer. */
function remedy(
  { present, upstream, findings }: CheckedUpstream,
  { preview, hasVariable }: CommandContext,
): string[] {
  if (!findings.some(({ note }) => note?.includes(`${present} does not answer`))) return []
  const first = ['upstreams', upstream, 'targets', 0]
  const written = preview.wordAt(first) ?? preview.wordAt([...first, 'url']) ?? ''
  const [, variable] = /\$\{(\w+)/.exec(written) ?? []
  const origin =
    variable === undefined
      ? ' Its address is that of the configuration.'
      : hasVariable(variable)
        ? ` Its address comes from ${variable}, as it is set in this terminal.`
        : ` Its address comes from ${variable}, which is not set in this terminal: set it if the backend listens elsewhere.`
  return [`The present backend ${present} does not answer: is it running?${origin}`]
}
