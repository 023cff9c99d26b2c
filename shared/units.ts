const milliseconds = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Ten years: what is meant to last longer is a revocation, or a mistake. */
const longestMs = 3_650 * 86_400_000

/** How amounts are written, for editors and for what reads them here. */
export const durationPattern = '^(\\d{1,9})(ms|s|m|h|d)$'
export const sizePattern = '^(\\d{1,9})(B|KiB|MiB|GiB)$'
export const instantPattern =
  '^(\\d{4}-\\d\\d-\\d\\d)(T\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?(?:Z|[+-]\\d\\d:\\d\\d))?$'

const durations = new RegExp(durationPattern)
const sizes = new RegExp(sizePattern)
const instants = new RegExp(instantPattern)

/** Milliseconds of a duration such as `50ms`, `1s`, `5m`, `24h` or `7d`; `undefined` if it is none. */
export function durationFrom(text: string): number | undefined {
  const parts = durations.exec(text)
  const unit = parts?.[2] as keyof typeof milliseconds | undefined
  const duration = parts && unit ? Number(parts[1]) * milliseconds[unit] : Infinity
  return duration <= longestMs ? duration : undefined
}

/** A whole number up to a most one. Throws a sentence that says what `name` must be. */
export function wholeNumber(name: string, text: string, most: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value <= most) return value
  throw new Error(`${name} must be a whole number from 0 to ${most}, got "${text}"`)
}

/** The port that the first of some settings names that isn't empty, an option before a variable. 0 is any free one. */
export function portOf(
  ...settings: readonly (readonly [name: string, text: string | undefined])[]
): number | undefined {
  // Kubernetes gives each pod such a GATEWAY_PORT if a Service is called `gateway`: it isn't meant for us.
  const [name, text] = settings.find(([, text = '']) => text && !text.startsWith('tcp://')) ?? []
  return name && text ? wholeNumber(name, text, 65_535) : undefined
}

/** The instant of a day such as 2030-12-31 (00:00 UTC) or of a time with its zone. */
export function instantFrom(text: string): number | undefined {
  const parts = instants.exec(text)
  const [, day = ''] = parts ?? []
  const start = Date.parse(day)
  // Date.parse takes a 31st of February for a 3rd of March.
  if (Number.isNaN(start) || !new Date(start).toISOString().startsWith(day)) return undefined
  const instant = Date.parse(text)
  return Number.isNaN(instant) ? undefined : instant
}

const spans = [
  ['day', milliseconds.d],
  ['hour', milliseconds.h],
  ['minute', milliseconds.m],
] as const

/** A span of time in words: whole units of the largest that fits, such as `12 minutes`. */
export function spanText(ms: number): string {
  const [unit, length] = spans.find(([, length]) => ms >= length) ?? (['second', 1_000] as const)
  const count = Math.max(0, Math.floor(ms / length))
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

const bytes = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const

/** Bytes of a size such as `512B`, `64KiB`, `1MiB` or `2GiB`; `undefined` if it is none. */
export function sizeFrom(text: string): number | undefined {
  const parts = sizes.exec(text)
  const unit = parts?.[2] as keyof typeof bytes | undefined
  return parts && unit ? Number(parts[1]) * bytes[unit] : undefined
}
