const least = -(2n ** 63n)
const most = 2n ** 63n - 1n

/** The largest number of characters in which an int64 can be written: a minus sign and 19 digits. */
const longest = 20

/**
 * The int64 that a text writes in plain digits, exactly; `undefined` for any other text.
 * `5.0` and `1e3` are other texts: who means a whole number writes one.
 */
export function int64From(text: string): bigint | undefined {
  if (text.length > longest || !/^-?(?:0|[1-9]\d*)$/.test(text)) return undefined
  const value = BigInt(text)
  return value >= least && value <= most ? value : undefined
}
