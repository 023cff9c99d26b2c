import { html, type Child } from '../../http/page/html.ts'
import { column, table } from '../../http/page/table.ts'

/**
 * A description as elements: paragraphs, lists, tables, code and bold words of Markdown. Everything else is shown as it is
 * written, because anybody may have written it: markup is text, and only links to https and http lead anywhere.
 */
export function prose(text: string | undefined): Child {
  if (text === undefined) return null
  return html`<div class="prose">${blocksOf(text).map(block)}</div>`
}

/** A description without paragraphs, for a line. */
export function line(text: string | undefined): Child {
  return text === undefined ? null : words(text.trim())
}

function blocksOf(text: string): string[] {
  const fenced = text.replaceAll('\r', '').split(/^```.*$/m)
  // Between fences everything is one block.
  return fenced.flatMap((part, i) =>
    i % 2 === 1 ? [`\`\`\`${part}`] : part.split(/\n\s*\n/).filter((each) => each.trim() !== ''),
  )
}

function block(text: string): Child {
  if (text.startsWith('```')) return html`<pre tabindex="0">${text.slice(3).trim()}</pre>`
  const lines = text.trim().split('\n')
  if (lines.every((each) => each.trim().startsWith('|'))) return tableOf(lines)
  if (/^\s*[-*] /.test(lines[0] ?? '')) {
    const items = text.trim().split(/\n?^\s*[-*] /m)
    return html`<ul>
      ${items.filter((each) => each.trim() !== '').map((item) => html`<li>${words(item)}</li>`)}
    </ul>`
  }
  return html`<p>${words(text.trim().replace(/^#+ /, ''))}</p>`
}

function tableOf(lines: readonly string[]): Child {
  const rows = lines
    .filter((each) => !/^\s*\|[\s:|-]+$/.test(each))
    .map((each) =>
      each
        .trim()
        .replace(/^\||\|$/g, '')
        .split('|'),
    )
  const [head = [], ...body] = rows
  const columns = head.map((name, i) =>
    column(words(name.trim()), (row: readonly string[]) => words((row[i] ?? '').trim())),
  )
  return table('Table', columns, body, undefined, 'bare')
}

const marks = /(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\(https?:\/\/[^\s)]+\))/

function words(text: string): Child {
  return text.split(marks).map((part) => {
    if (/^`[^`]+`$/.test(part)) return html`<code>${part.slice(1, -1)}</code>`
    if (/^\*\*[^*]+\*\*$/.test(part)) return html`<b>${part.slice(2, -2)}</b>`
    const [, label, url] = /^\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)$/.exec(part) ?? []
    return url === undefined ? part : html`<a href=${url} rel="noreferrer">${label}</a>`
  })
}
