import { html } from '../../../../front/http/page/html.ts'
import { numeric, table } from '../page-parts.ts'
import type { CheckedUpstream } from '../../../operations/upstream/check.ts'
import type { Finding } from '../../../probe/probe.ts'

/** What probes have told of another backend. */
export function ProbeFindings({ checked: { fit, findings } }: { checked: CheckedUpstream }) {
  const breaks = findings.some((finding) => finding.breaks.length > 0)
  const verdict = breaks ? 'It would break callers.' : 'Not everything could be compared.'
  return html`
    <p class=${`banner ${fit ? 'good' : 'bad'}`} role="status">
      ${fit ? 'Nothing would break.' : verdict}
    </p>
    ${table(
      'Findings',
      [
        { name: 'Probe', cell: ({ probe }: Finding) => html`<code>${probe}</code>` },
        { name: 'Expected', cell: ({ expected }: Finding) => expected },
        { name: 'Got', cell: ({ got }: Finding) => got },
        numeric('ms', ({ milliseconds }: Finding) => milliseconds),
        {
          name: 'Would break',
          cell: ({ breaks, note }: Finding) =>
            breaks.concat(note ?? []).join('; ') || html`<span class="quiet">nothing</span>`,
        },
      ],
      findings,
    )}
  `
}
