/** The header of a key by default, in which it stands after the word Bearer. */
export const authorization = 'authorization'

/** A header's name as documents spell it, such as `X-Api-Key`. */
export function titled(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())
}
