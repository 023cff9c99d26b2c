import { readText, type ReadText } from './read-text.ts'

/** The longest file of a secret. */
const mostBytes = 2 ** 16

/** A secret's file within a text. */
const named = /\$\{file:([^}]*)\}/g

/** Reads the secret in a file, without the end of its line; or says why it has none. */
export function secretIn(file: string): ReadText {
  const fault = nameFault(file)
  if (fault !== undefined) return { why: fault }
  const { text, why } = readText(file, mostBytes)
  if (text === undefined) return { why }
  const secret = text.replace(/\r?\n$/, '')
  return secret === '' ? { why: 'it is empty' } : { text: secret }
}

function nameFault(file: string): string | undefined {
  if (file === '') return 'its path is missing'
  return /\$\{|:-/.test(file) ? 'its path can have no variable, and no default' : undefined
}

/** The sentence about a secret that can't be read. */
export function unreadSecret(file: string, why: string): string {
  return `\${file:${file}} can't be read: ${why}`
}

/** The value of a variable with the secrets that it takes from files, and their names. Throws a sentence that quotes no secret. */
export function withSecrets(variable: string, value = '') {
  const files: string[] = []
  const text = value.replace(named, (_all, file: string) => {
    const { text, why } = secretIn(file)
    if (text === undefined) throw new Error(`${variable}: ${unreadSecret(file, why)}`)
    files.push(file)
    return text
  })
  return { text, files }
}
