import { parse } from 'yaml'

/** The quotes that a text is written in if it needs none. */
export type Quotes = 'none' | 'single' | 'double'

/** A value in one line of YAML that means the same everywhere, also inside of `{ }` and `[ ]`. */
export function flowText(value: unknown, quotes: Quotes = 'none'): string {
  if (typeof value === 'string') return quoted(value, quotes)
  if (Array.isArray(value)) return `[${value.map((each) => flowText(each)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, each]) => `${flowText(name)}: ${flowText(each)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

function quoted(text: string, quotes: Quotes): string {
  // Between single quotes, a line can't be broken and no character escaped.
  if (quotes === 'double' || /[^\P{C}]|[\u2028\u2029]/u.test(text)) return JSON.stringify(text)
  const isPlain = /^[\w/][\w./*+-]*$/.test(text) && parse(text) === text
  return isPlain && quotes === 'none' ? text : `'${text.replaceAll("'", "''")}'`
}
