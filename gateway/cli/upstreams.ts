import { secretFault } from '../../shared/signature.ts'
import type { UpstreamSettings } from '../config/config.ts'
import { isTargetUrl } from '../forwarding/target-url.ts'
import type { Comparison, Finding } from '../forwarding/probe.ts'
import { text, UsageError, type Command, type Context, type Input } from './command.ts'
import { aligned } from './table.ts'

/** The command with which operators look at a backend before they put it behind the gateway. */
export const upstreamCommands: readonly Command[] = [
  {
    name: 'upstream check',
    args: ['URL'],
    summary: 'Hold a would-be backend against the one that serves now',
    details:
      'Asks it for its health and for the probes of the upstream, signed if GATEWAY_SECRET is set, and tells\n' +
      'what callers would find different: a status, a type, a member that is missing. It asks with GET only. Exit code 1 if anything would break,\n' +
      'or could not be compared because the present backend does not answer.',
    options: { upstream: { value: 'NAME', help: 'which upstream, if there are several' } },
    run: async (context, input) => {
      const url = urlFrom(input.args[0] ?? '')
      const upstream = upstreamFrom(context, input)
      const { config, secret } = context
      const fault = secretFault(secret)
      if (fault) throw new UsageError(fault)
      // With undici, which no other command needs.
      const { holdAgainst } = await import('../forwarding/probe.ts')
      const comparison = await holdAgainst(url, { config, upstream, secret })
      const rows = comparison.findings.map(row)
      return {
        text: [
          aligned([['PROBE', 'EXPECTED', 'GOT', 'MS', 'WOULD BREAK'], ...rows]),
          '',
          ...verdict(url, upstream, comparison),
          ...remedy(context, upstream, comparison),
        ].join('\n'),
        json: { url, upstream: upstream.name, ...comparison },
        isRefused: !comparison.fit,
      }
    },
  },
]

function row({ probe, expected, got, milliseconds, breaks, note }: Finding): string[] {
  const told = [...breaks, ...(note === undefined ? [] : [note])].join('; ')
  return [probe, expected, got, String(milliseconds), told || '-']
}

/** Whether the backend can serve, in a sentence or two. */
function verdict(url: string, { name }: UpstreamSettings, { fit, findings }: Comparison): string[] {
  const all = `${findings.length} ${findings.length === 1 ? 'probe' : 'probes'}`
  if (fit) return [`${url} can serve the upstream ${name}: ${all}, nothing breaks.`]
  const broken = findings.filter(({ breaks }) => breaks.length > 0).length
  const uncompared = findings.filter(({ compared }) => !compared).length
  return [
    ...(broken > 0 ? [`${url} would break ${broken} of ${all}.`] : []),
    ...(uncompared > 0 ? [`Nothing was compared in ${uncompared} of ${all}.`] : []),
  ]
}

/** Advice about a present backend that does not answer. */
function remedy(
  { preview, hasVariable }: Context,
  { name }: UpstreamSettings,
  { present, findings }: Comparison,
): string[] {
  if (findings.every(({ note }) => note === undefined)) return []
  const first = ['upstreams', name, 'targets', 0]
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

function urlFrom(given: string): string {
  if (isTargetUrl(given)) return given
  throw new UsageError(`URL must be an http or https URL without a path, got "${given}"`)
}

function upstreamFrom({ config }: Context, input: Input): UpstreamSettings {
  const names = [...config.upstreams.keys()]
  const name = text(input, 'upstream') ?? (names.length === 1 ? names[0] : undefined)
  if (name === undefined) throw new UsageError(`--upstream is needed: one of ${names.join(', ')}`)
  const upstream = config.upstreams.get(name)
  if (upstream) return upstream
  throw new UsageError(`there is no upstream "${name}"; there are ${names.join(', ')}`)
}
