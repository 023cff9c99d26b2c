/** Variables by name. An empty variable counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Whether operators have a token. */
export function hasToken(environment: Environment): boolean {
  return Boolean(environment['ADMIN_TOKEN'])
}

const variable = /\$\{(\w+)(?::-([^}]*))?\}/g

/** Fills the variables of an environment into a text. */
export function filledIn(text: string, environment: Environment) {
  const missing = new Set<string>()
  const nameByValue = new Map<string, string>()
  // Behind the last brace, each default would be looked for to the end of the text.
  const end = text.lastIndexOf('}') + 1
  const fill = (show: (value: string, name: string) => string): string =>
    text.slice(0, end).replace(variable, (_all, name: string, initial?: string) => {
      const value = environment[name]
      if (value !== undefined && value !== '') {
        nameByValue.set(value, name)
        return show(value, name)
      }
      if (initial !== undefined) return initial
      missing.add(name)
      return show('', name)
    }) + text.slice(end)
  return {
    text: fill((value) => value),
    /** The text with `${NAME}` for each variable that is set or has no default, and the defaults of the others. */
    withPlaceholders: fill((_, name) => `\${${name}}`),
    /** The names of the variables that are set, by their values. */
    nameByValue,
    /** The variables that are neither set nor have a default. */
    missing,
  }
}

/** YAML's own characters between braces, and the noncharacters that replace them while YAML is read. */
const marks = '{}[],:#'
const guards = '\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6'

/** A variable within one line and without quotes, which YAML must read itself. */
const inLine = /\$\{\w+(?::-[^}"'\r\n]*)?\}/g

/** The parts in which such a variable may be: each ends with its brace, or with what no default may have. */
const upToBrace = /[^}"'\r\n]+\}?/g

/**
 * A text whose variables YAML reads as parts of values: unguarded, `{ perHour: ${FREE:-60} }` would be a section in a
 * section. Each character keeps its offset.
 */
export function guardedText(text: string): string {
  if (/[\ufdd0-\ufdd6]/.test(text)) return text
  return text.replace(upToBrace, (part) =>
    part.endsWith('}')
      ? part.replace(inLine, (written) =>
          written.replace(/[{}[\],:#]/g, (mark) => guards.charAt(marks.indexOf(mark))),
        )
      : part,
  )
}

/** A guarded text as it was written. */
export function baredText(text: string): string {
  return text.replace(/[\ufdd0-\ufdd6]/g, (guard) => marks.charAt(guards.indexOf(guard)))
}
