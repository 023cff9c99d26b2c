import { useEffect, useState } from 'preact/hooks'
import { bar, partBars, placesBar } from '../../http/page/bars.ts'
import { count, messageOf, plural } from '../../http/page/format.ts'
import { html, type Child } from '../../http/page/html.ts'
import { timeOfSeconds } from '../../http/page/time.ts'
import { windowsWhere } from '../../http/page/windows.ts'
import { ask, noticeText } from './request.ts'
import type { Terms } from '../terms.ts'
import type { OwnStanding } from '../../limits/views.ts'
import type { OwnUsage } from '../usage.ts'
import { UsageView } from './usage-view.ts'

/** The time between two questions for usage: a little more than the gateway asks for. */
const usageEveryMs = 1_200

/** The time of the last one, by `performance`, whatever the key. */
let usageAskedAtMs = -Infinity

type StandingProps = Readonly<{
  /** The path of the gateway on this host. */
  root: string
  terms: Terms
  apiKey: string
  /** Rises with each request that was sent from the page. */
  round: number
}>

/** How the holder of the key stands: its windows, strikes, ban and usage. Asking costs nothing. */
export function StandingView({ root, terms, apiKey, round }: StandingProps) {
  const { quotaPath, usagePath } = terms
  const credentials = { token: apiKey, header: terms.keyHeader }
  const [quota, setQuota] = useState<OwnStanding>()
  const [usage, setUsage] = useState<OwnUsage>()
  const [error, setError] = useState<string>()
  const [asked, setAsked] = useState(0)
  const fail = (thrown: unknown): void => setError(messageOf(thrown))
  useEffect(() => {
    if (quotaPath === null) return
    ask<OwnStanding>(credentials, root + quotaPath).then((seen) => {
      setQuota(seen)
      setError(undefined)
    }, fail)
  }, [apiKey, round, asked])
  // Usage may be asked for once a second, so it doesn't follow each request, and waits for its turn.
  useEffect(() => {
    if (usagePath === null) return undefined
    const load = (): void => {
      usageAskedAtMs = performance.now()
      ask<OwnUsage>(credentials, `${root}${usagePath}?days=90`).then(setUsage, fail)
    }
    const timer = setTimeout(load, Math.max(0, usageAskedAtMs + usageEveryMs - performance.now()))
    return () => clearTimeout(timer)
  }, [apiKey, asked])
  return html`
    <section aria-labelledby="standing" class="card">
      <h2 id="standing" tabindex="-1">Your limits and usage</h2>
      ${error !== undefined && html`<p class="banner bad" role="alert">${error}</p>`}
      ${quota && quotaView(quota)}
      ${!quota && quotaPath !== null && html`<p class="quiet">Loading …</p>`}
      ${usage && html`<${UsageView} usage=${usage} />`}
      <p class="buttons">
        <button type="button" onClick=${() => setAsked(asked + 1)}>Refresh</button>
        <span class="quiet">Costs nothing. Usage is up to five seconds late.</span>
      </p>
    </section>
  `
}

function quotaView(standing: OwnStanding): Child {
  const { plan, strikes, strikesToBan, bannedUntil, notice } = standing
  const shown = windowsWhere(({ name }) => Boolean(standing[name]))
  return html`
    <p>Plan <b>${plan}</b></p>
    ${
      bannedUntil !== null &&
      html`<p class="banner bad" role="alert">
        Your key is banned until ${timeOfSeconds(bannedUntil)}.${' '}
        <a href="#refused">Why, and what to do</a>
      </p>`
    }
    <div class="bars">
      ${shown.map(({ name, present }) => bar(present, standing[name] ?? null))}
      ${placesBar('In flight', standing.atOnce)}
    </div>
    ${partBars(standing)} ${notice && html`<p>${noticeText(notice)}</p>`}
    ${
      strikesToBan !== null &&
      html`<p>
        ${plural(strikes, 'strike')} of ${count(strikesToBan)} that ban the key.
        ${strikes > 0 && html` <a href="#refused">What is a strike?</a>`}
      </p>`
    }
  `
}
