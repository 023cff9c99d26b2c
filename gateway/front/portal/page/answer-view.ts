import { count, plural } from '../../http/page/format.ts'
import { html, type Child } from '../../http/page/html.ts'
import { timeOfSeconds } from '../../http/page/time.ts'
import { gatewayNowMs } from '../../http/page/utc.ts'
import { noticeOf, noticeText, readingOf, type Answer } from './request.ts'

/** An answer, or why none came: first in a sentence, which is read out, then all of it. */
export function AnswerView({ answer }: Readonly<{ answer: Answer | string }>) {
  if (typeof answer === 'string') return html`<p class="banner bad" role="alert">${answer}</p>`
  const { status, statusText, headers, text, ms } = answer
  const all = [...headers]
  const level = status < 400 ? 'good' : status < 500 ? '' : 'bad'
  return html`
    <div class="answer">
      <div class=${`banner ${level}`} role="status">
        <p>
          <b class="status">${status} ${statusText}</b> <span class="quiet">after ${ms} ms</span>
        </p>
        ${readingText(answer)} ${advice(answer)}
      </div>
      ${text !== '' && html`<pre class="body" tabindex="0" aria-label="Response body">${formatted(answer)}</pre>`}
      <details>
        <summary>${plural(all.length, 'header')}</summary>
        <dl class="headers">
          ${all.map(
            ([name, value]) =>
              html`<dt>${name}</dt>
                <dd>${value}</dd>`,
          )}
        </dl>
      </details>
    </div>
  `
}

function readingText(answer: Answer): Child {
  const reading = readingOf(answer)
  if (!reading) return null
  const { limit, remaining, reset } = reading
  const notice = noticeOf(answer)
  return html`<p class="reading">
    ${`${count(remaining)} of ${count(limit)} left, until `}${timeOfSeconds(reset)}.
    ${notice && ` ${noticeText(notice)}`}
  </p>`
}

/** The advice after a refusal. */
function advice({ status, headers }: Answer): Child {
  const seconds = Number(headers.get('retry-after') ?? NaN)
  const wait =
    Number.isFinite(seconds) &&
    html`Wait ${plural(seconds, 'second')}, until
    ${' '}${timeOfSeconds(Math.floor(gatewayNowMs() / 1_000) + seconds)}. `
  const more = html`<a href="#refused">What refusals mean</a>`
  if (status === 401) return html`<p>It had no valid key. Enter yours at the top. ${more}</p>`
  if (status === 429 || (status === 503 && wait)) {
    return html`<p>
      ${wait}Then requests are accepted again; earlier ones may get your key banned. ${more}
    </p>`
  }
  return status >= 400 ? html`<p>${more}</p>` : null
}

function formatted({ text, headers }: Answer): string {
  const type = headers.get('content-type') ?? ''
  try {
    // Numbers over 15 digits would lose some; then the text stays as it came.
    const isExact = !/\d{16,}/.test(text)
    return /\bjson\b/.test(type) && isExact ? JSON.stringify(JSON.parse(text), null, 2) : text
  } catch {
    return text
  }
}
