import { html, type Child } from '../../../../front/http/page/html.ts'

/** A patch, line by line: its signs say what the colours do. */
export function patch(diff: string): Child {
  const lines = diff.split('\n').filter((line) => line !== '')
  return html`<pre class="diff" tabindex="0">
${lines.map((line) => html`<span class=${kindOf(line)}>${`${line}\n`}</span>`)}</pre>`
}

function kindOf(line: string): string {
  if (/^(?:---|\+\+\+)/.test(line)) return ''
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'taken' : ''
}
