/**
 * A number with commas between its thousands, and at most three decimals: as `toLocaleString('en')` writes it, whose first
 * call reads the tables of all languages, 0.03 s during which no caller is served.
 */
export function withCommas(number: number): string {
  const short = Number.isInteger(number) ? number : Number(number.toFixed(3))
  const [whole = '', ...decimals] = String(short).split('.')
  return [whole.replace(/\B(?=(?:\d{3})+$)/g, ','), ...decimals].join('.')
}

/** A number with its noun, such as `1 key` or `1,200 keys`. */
export function counted(count: number, noun: string): string {
  return `${withCommas(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** Words for a number that is over the most, such as `1,025 bytes; at most 1,024 are allowed`. */
export function overMost(number: number, unit: string, most: number): string {
  return `${withCommas(number)} ${unit}; at most ${withCommas(most)} are allowed`
}
