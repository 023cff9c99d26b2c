import type { secretIn } from '../../../shared/secret-files.ts'

/** Variables by name. An empty variable counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Whether operators have a token. */
export function hasToken(environment: Environment): boolean {
  return Boolean(environment['ADMIN_TOKEN'])
}

const variable = /\$\{(?:(\w+)(?::-([^}]*))?|file:([^}]*))\}/g

/** What a secret's file is called among variables. */
const ofFile = 'file:'

/** Reads the secret in a file. */
export type ReadSecret = typeof secretIn

/** The name of a secret's file among variables; `undefined` if the variable is none. */
export function secretFileOf(variable: string): string | undefined {
  return variable.startsWith(ofFile) ? variable.slice(ofFile.length) : undefined
}

/** The variables, and files of secrets, that a text names. */
export function namesIn(text: string): string[] {
  return [...text.matchAll(variable)].map(([, name, , file = '']) => name ?? ofFile + file)
}

/** Fills the variables of an environment, and the secrets in files, into a text. */
export function filledIn(text: string, environment: Environment, readSecret: ReadSecret) {
  const missing = new Set<string>()
  const nameByValue = new Map<string, string>()
  /** Why files of secrets can't be read, by their names. */
  const unread = new Map<string, string>()
  // Behind the last brace, each default would be looked for to the end of the text.
  const end = text.lastIndexOf('}') + 1
  const fill = (show: (value: string, name: string) => string): string =>
    text.slice(0, end).replace(variable, (_all, plain?: string, initial?: string, file = '') => {
      const name = plain ?? ofFile + String(file)
      const secret = plain === undefined ? readSecret(String(file)) : undefined
      if (secret?.why !== undefined) unread.set(String(file), secret.why)
      const value = secret ? secret.text : environment[name]
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
    /** The variables that are neither set nor have a default, and the files of secrets that can't be read. */
    missing,
    unread,
  }
}

/** YAML's own characters between braces, and the noncharacters that replace them while YAML is read. */
const marks = '{}[],:#'
const guards = '\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5\ufdd6'

/** A variable within one line and without quotes, which YAML must read itself. */
const inLine = /\$\{(?:\w+(?::-[^}"'\r\n]*)?|file:[^}"'\r\n]*)\}/g

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
