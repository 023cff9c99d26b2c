import { html } from '../../../../front/http/page/html.ts'
import { table } from '../page-parts.ts'
import type { CheckedUpstream } from '../../../operations/upstream/check.ts'
import type { Finding } from '../../../compare/probe.ts'

/** What probes have told of another backend. */
export function ProbeFindings({ checked: { fit, findings } }: { checked: CheckedUpstream }) {
  const names = [...new Set(findings.flatMap((finding) => Object.keys(finding)))]
  return html`
    <p class=${`banner ${fit ? 'good' : 'bad'}`} role="status">
      ${fit ? 'Nothing would break.' : 'It would break something for callers.'}
    </p>
    ${table(
      'What was found',
      names.map((name) => ({
        name,
        cell: (finding: Finding) => textOf(Reflect.get(finding, name)),
      })),
      findings,
    )}
  `
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join('; ')
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}
