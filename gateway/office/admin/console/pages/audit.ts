import { useState } from 'preact/hooks'
import { query } from '../api.ts'
import { field, fieldText, formIn } from '../controls.ts'
import { shown, useData } from '../data.ts'
import { html, type Child } from '../../../../front/http/page/html.ts'
import { section } from '../../../../front/http/page/sections.ts'
import { limitsText } from '../../../../front/http/page/windows.ts'
import { aged, column, keyLink, page, table, time } from '../page-parts.ts'
import type { AuditView } from '../../../operations/reports/audit.ts'

/** The audit log. */
export function Audit() {
  const [key, setKey] = useState('')
  const [who, setWho] = useState('')
  const changes = useData<readonly AuditView[]>(`/admin/audit${query({ key, limit: 200 })}`)
  const apply = (event: Event): void => {
    const form = formIn(event)
    setKey(fieldText(form, 'key'))
    setWho(fieldText(form, 'who'))
  }
  return page(
    'Audit log',
    `tollgate audit${key === '' ? '' : ` --key ${key}`}`,
    null,
    html`
      <form class="tools" onSubmit=${apply}>
        ${field('Key', { name: 'key', placeholder: 'its id or name' })}
        ${field('By', { name: 'who', placeholder: 'an operator' })}
        <button>Filter</button>
      </form>
    `,
    aged(changes, (all) => {
      const shown = all.filter(({ by }) => who === '' || by === who)
      if (shown.length === 0) return html`<p class="quiet">Nothing was changed.</p>`
      return table<AuditView>(
        'The latest changes and bans, newest first',
        [
          column('When', ({ at }) => time(at)),
          column('What', (row) => html`<div class="why">${sentenceOf(row)}</div>`),
          column('Details', rawChange),
        ],
        shown,
      )
    }),
  )
}

function sentenceOf({ what, subject, sentence }: AuditView): Child {
  const isOfKey = /^(?:keys|bans|quota)\./.test(what) && /^[0-9A-Za-z]{12}$/.test(subject)
  return isOfKey ? keyLink(subject, sentence) : sentence
}

/** A change as the audit has it, behind a fold: the changed members, each with its value before and after. */
export function rawChange({ what, before, after }: Omit<AuditView, 'subject'>): Child {
  const [old, now] = [section(before), section(after)]
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])]
  const changed = names.filter(
    (name) => JSON.stringify(old[name] ?? null) !== JSON.stringify(now[name] ?? null),
  )
  return html`
    <details>
      <summary>${what}</summary>
      <ul class="plain">
        ${changed.map(
          (name) => html`
            <li>
              ${name}:${name in old ? html` <del>${valueText(name, old[name])}</del>` : ''}${name in now ? html` <ins>${valueText(name, now[name])}</ins>` : ''}
            </li>
          `,
        )}
      </ul>
    </details>
  `
}

function valueText(name: string, value: unknown): string {
  if (name !== 'limits' && name !== 'cap') return shown(value)
  return limitsText(section(value))
}
