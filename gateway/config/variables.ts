/** Variables by their names; one that isn't set, or is empty, is silent. */
export type Environment = Readonly<Record<string, string | undefined>>

/** A text in which variables have been filled in. */
export type Filled = Readonly<{
  text: string
  /** The same, with `${NAME}` for what variables say; what they leave to the file is as it says. */
  named: string
  /** What variables have said, and their names. */
  said: ReadonlyMap<string, string>
  /** One that says nothing, and for whose silence nothing is written. */
  missing?: string
}>

const variable = /\$\{(\w+)(?::-([^}]*))?\}/g

/** Fills in what variables of the environment say. */
export function filledIn(text: string, environment: Environment): Filled {
  let missing: string | undefined
  const said = new Map<string, string>()
  const fill = (shows: (value: string, name: string) => string): string =>
    text.replace(variable, (_all, name: string, otherwise?: string) => {
      const value = environment[name]
      if (value !== undefined && value !== '') {
        said.set(value, name)
        return shows(value, name)
      }
      if (otherwise === undefined) missing ??= name
      return otherwise ?? ''
    })
  const filled = { text: fill((value) => value), named: fill((_, name) => `\${${name}}`), said }
  return missing === undefined ? filled : { ...filled, missing }
}

/** What YAML takes for its own between braces, and what stands for it there while YAML is read: characters of no text. */
const marks = '{}[],:#'
const guards = '\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6'

/** A variable as it stands in a line, without quotes in it: those are for YAML to read. */
const inLine = /\$\{\w+(?::-[^}"'\r\n]*)?\}/g

/**
 * A text whose variables YAML reads as parts of values, wherever they stand: `{ perMinute: ${FREE:-60} }` would be a
 * section in a section. Each character stays in its place.
 */
export function guardedText(text: string): string {
  if (/[\ufdd0-\ufdd6]/.test(text)) return text
  return text.replace(inLine, (written) =>
    written.replace(/[{}[\],:#]/g, (mark) => guards.charAt(marks.indexOf(mark))),
  )
}

/** The same as it was written. */
export function baredText(text: string): string {
  return text.replace(/[\ufdd0-\ufdd6]/g, (guard) => marks.charAt(guards.indexOf(guard)))
}
