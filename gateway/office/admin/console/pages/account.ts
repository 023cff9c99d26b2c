import { query } from '../api.ts'
import { useData, useMayAll } from '../data.ts'
import { plural } from '../../../../front/http/page/format.ts'
import { html } from '../../../../front/http/page/html.ts'
import { aged, emptyPage, firstButton, page, table } from '../page-parts.ts'
import type { KeyPage } from '../../../operations/keys/list.ts'
import { keyColumns } from './key-columns.ts'
import { MakeKey } from './make-key.ts'

/** The keys of an account that are listed; the command has all. */
const mostKeys = 200

/** An account: its keys, which use up one quota. */
export function Account({ id }: { id: string }) {
  const mayAll = useMayAll()
  const path = `/admin/keys${query({ account: id, standing: 'true', limit: mostKeys })}`
  const keys = useData<KeyPage>(path, 5_000)
  return page(
    `Account ${id}`,
    `tollgate keys list --account ${id}`,
    mayAll && html`<${MakeKey} made=${keys.reload} account=${id} isMain />`,
    aged(keys, ({ keys: rows, next }) => {
      if (rows.length === 0)
        return emptyPage('No key has this account', mayAll && firstButton('Create its first key'))
      const some = `${next === null ? '' : 'More than '}${plural(rows.length, 'key')}`
      return html`
        <p class="sentence">
          ${`${some}. They use up one quota, each by the limits of its own plan; a test key has a quota of its own.`}
        </p>
        ${table(`Keys of ${id}`, keyColumns(), rows, (key) => key.id)}
      `
    }),
  )
}
