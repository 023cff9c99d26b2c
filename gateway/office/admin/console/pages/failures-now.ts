import { sides } from '../charts/outcomes.ts'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { numeric, requestLink, table, type Column } from '../page-parts.ts'
import type { Snapshot } from '../../../live/snapshot.ts'

type Failure = Snapshot['failures'][number]

/** The failures of the last 15 minutes, each cause once. */
export function failuresOf({ failures }: Snapshot): Child {
  if (failures.length === 0) return null
  return html`
    <h2>Failures by cause</h2>
    ${table('15 minutes, most first; the time links to the newest', columns, failures, ({ upstream, reason, status }) => `${upstream} ${reason} ${status}`)}
  `
}

const columns: readonly Column<Failure>[] = [
  { name: 'Newest', cell: ({ id, last }) => requestLink(id, last) },
  { name: 'Why', cell: ({ sentence }) => html`<div class="why">${sentence}</div>` },
  { name: 'Failed by', cell: ({ side }) => sides.get(side) },
  numeric('Times', (failure) => count(failure.count)),
  { name: 'Status', cell: ({ status }) => status },
]
