import { STATUS_CODES } from './node/http.ts'
import type { Refusal } from './refusal.ts'

/** The type of a refusal as problem details (RFC 9457). */
export const problemType = 'application/problem+json; charset=utf-8'

/** A path that may stand in a URI as it is, and isn't read as the name of a host. */
const plainPath = /^\/(?!\/)(?:[\w.~!$&'()*+,;=:@/-]|%[\da-f]{2})*$/i

/** The most characters of an `Accept` that are read; those of browsers have 150. */
const longestAccept = 512

/** Whether an `Accept` prefers problem details to plain JSON; of equals JSON is sent. */
export function prefersProblems(accept: string | undefined): boolean {
  // Without weights, and without their name, nothing is preferred.
  if (accept === undefined || accept.length > longestAccept) return false
  if (!/;|problem/i.test(accept)) return false
  const ranges = accept.toLowerCase().split(',').map(rangeFrom)
  return qualityOf('application/problem+json', ranges) > qualityOf('application/json', ranges)
}

/**
 * A refusal as problem details. Its `code` tells problems apart, so the type is that of the status alone. The instance is the
 * request, by its path and id.
 */
export function problemBody({ code, message, status }: Refusal, path: string, id: string): string {
  return JSON.stringify({
    type: 'about:blank',
    title: STATUS_CODES[status],
    status,
    detail: message,
    instance: `${plainPath.test(path) ? path : '/'}#${id}`,
    code,
    message,
  })
}

type Range = Readonly<{ type: string; quality: number }>

function rangeFrom(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim())
  const weight = parameters.find((each) => each.startsWith('q='))?.slice(2)
  return { type, quality: weight === undefined ? 1 : Number(weight) || 0 }
}

/** The weight of a media type: that of the range that names it most closely. */
function qualityOf(type: string, ranges: readonly Range[]): number {
  const fitting = [type, 'application/*', '*/*'].flatMap(
    (name) => ranges.find((range) => range.type === name) ?? [],
  )
  return fitting[0]?.quality ?? 0
}
