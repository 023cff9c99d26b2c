import { html, type Child } from './html.ts'
import { local, nearness, utc } from './utc.ts'

/** A time, and how soon it comes if that is within a day; the reader's own time is its tooltip. */
export function time(iso: string): Child {
  const near = nearness(iso)
  return html`<time datetime=${iso} title=${local(iso)}>${utc(iso)}</time>${near && ` (${near})`}`
}

/** The same for seconds since 1970, as headers and windows have them. */
export function timeOfSeconds(seconds: number): Child {
  return time(new Date(seconds * 1_000).toISOString())
}
