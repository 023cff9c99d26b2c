const least = -(2n ** 63n)
const most = 2n ** 63n - 1n

/** The most characters of an int64: a minus sign and 19 digits. */
const longest = 20

/**
 * The exact int64 of a text in plain digits; `undefined` for any other text, such as `5.0` or `1e3`.
 */
export function int64From(text: string): bigint | undefined {
  if (text.length > longest || !/^-?(?:0|[1-9]\d*)$/.test(text)) return undefined
  const value = BigInt(text)
  return value >= least && value <= most ? value : undefined
}
