import { html, type Child } from './html.ts'
import { clockTime, local, nearness, utc } from './utc.ts'

/** A time as people say it, and how far it is if that is within a day; whole, and in the reader's own zone, as its tooltip. */
export function time(iso: string): Child {
  const near = nearness(iso)
  return html`<time datetime=${iso} title=${`${utc(iso)}, ${local(iso)}`}
    >${clockTime(iso)}${near && `, ${near}`}</time
  >`
}

/** The same for seconds since 1970, as headers and windows have them. */
export function timeOfSeconds(seconds: number): Child {
  return time(new Date(seconds * 1_000).toISOString())
}
