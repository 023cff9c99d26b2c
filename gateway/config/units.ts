const milliseconds = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Milliseconds of a duration such as `50ms`, `1s`, `5m`, `24h` or `7d`; `undefined` if it is none. */
export function durationFrom(text: string): number | undefined {
  const parts = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text)
  const unit = parts?.[2] as keyof typeof milliseconds | undefined
  return parts && unit ? Number(parts[1]) * milliseconds[unit] : undefined
}
