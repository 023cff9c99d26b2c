import { secretFault } from '../../shared/signature.ts'
import type { UpstreamSettings } from '../config/config.ts'
import { holdAgainst, isTargetUrl, type Finding } from '../forwarding/probe.ts'
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
      'what callers would find different: a status, a type, a member that is missing. It asks with GET only.',
    options: { upstream: { value: 'NAME', help: 'which upstream, if there are several' } },
    run: async (context, input) => {
      const url = urlFrom(input.args[0] ?? '')
      const upstream = upstreamFrom(context, input)
      const { config, secret } = context
      const fault = secretFault(secret)
      if (fault) throw new UsageError(fault)
      const findings = await holdAgainst(url, { config, upstream, secret })
      const broken = findings.filter(({ breaks }) => breaks.length > 0).length
      return {
        text: `${aligned([['PROBE', 'EXPECTED', 'GOT', 'MS', 'WOULD BREAK'], ...findings.map(row)])}\n\n${
          broken > 0
            ? `${url} would break ${broken} of ${findings.length} probes.`
            : `${url} can serve the upstream ${upstream.name}: ${findings.length} probes, nothing breaks.`
        }`,
        json: { url, upstream: upstream.name, fit: broken === 0, findings },
        isRefused: broken > 0,
      }
    },
  },
]

function row({ probe, expected, got, milliseconds, breaks }: Finding): string[] {
  return [probe, expected, got, String(milliseconds), breaks.join('; ') || '-']
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
