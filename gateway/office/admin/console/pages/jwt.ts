import { useData } from '../data.ts'
import { count } from '../../../../front/http/page/format.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { aged, column, facts, keyLink, numeric, table, time, type Column } from '../page-parts.ts'
import type { JudgedToken } from '../../../operations/jwt/judged.ts'
import type { Issuers as IssuersView } from '../../../operations/jwt/list.ts'

/** Whether a text is a JWT: three parts, of which the first is a JSON object with `alg`. */
export function isJwt(text: string): boolean {
  const [, head = ''] = /^([\w-]+)\.[\w-]*\.[\w-]*$/.exec(text) ?? []
  try {
    const header: unknown = JSON.parse(atob(head.replaceAll('-', '+').replaceAll('_', '/')))
    return typeof header === 'object' && header !== null && 'alg' in header
  } catch {
    return false
  }
}

/** What a token says, whether it verifies, and whose it would be. */
export function judgedJwt({ header, claims, reason, failure, caller }: JudgedToken): Child {
  const verdict = reason === null ? 'This JWT verifies.' : `This JWT is refused: ${reason}.`
  const why = failure === null ? '' : ` The keys of its issuer can’t be fetched: ${failure}.`
  const exp = claims?.['exp']
  const isTime = typeof exp === 'number' && Math.abs(exp) < 8.64e12
  return html`
    <section aria-label="JWT">
      <p class=${reason === null ? 'banner' : 'banner bad'} role="status">${verdict}${why}</p>
      ${facts([
        ['Caller', caller && keyLink(caller.id, caller.name)],
        ['Subject', caller?.subject],
        ['Plan', caller?.plan],
        ['Account', caller?.account],
        ['Ends', isTime && time(new Date(exp * 1_000).toISOString())],
        ['Header', html`<code>${JSON.stringify(header)}</code>`],
        ['Claims', claims ? html`<code>${JSON.stringify(claims)}</code>` : 'can’t be read'],
      ])}
    </section>
  `
}

type Issuer = IssuersView[number]

/** The issuers of JWTs, where the configuration has some. */
export function Issuers() {
  const issuers = useData<IssuersView>('/admin/jwt', 30_000)
  if (!issuers.data || issuers.data.length === 0) return null
  return aged(issuers, (rows) => table('Issuers of JWTs', columns, rows, ({ issuer }) => issuer))
}

const columns: readonly Column<Issuer>[] = [
  column('Issuer', ({ issuer }) => issuer),
  numeric('Callers', ({ callers, maxCallers }) => `${count(callers)} of ${count(maxCallers)}`),
  numeric('Keys', ({ keys }) => (keys === null ? 'none yet' : count(keys))),
  column('Keys left out', ({ leftOut }) =>
    leftOut.length === 0
      ? '–'
      : leftOut.map(({ kid, reason }) => html`<div>${kid ?? 'without kid'}: ${reason}</div>`),
  ),
  column('Fetched', ({ fetchedAt }) => time(fetchedAt, 'never')),
  column('Last failure', ({ failure }) => failure ?? '–'),
]
