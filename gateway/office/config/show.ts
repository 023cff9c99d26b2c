import { maskedJson } from './mask.ts'
import type { CompleteFile } from './defaults.ts'
import { yaml } from './yaml.ts'

/** A complete file as operators see it: in the form of the file, without secrets. */
export function shownFrom(file: CompleteFile): CompleteFile {
  return JSON.parse(JSON.stringify(file, maskedJson)) as CompleteFile
}

/** A shown configuration as YAML, for people. */
export function configText(shown: unknown): string {
  return yaml().stringify(shown, { lineWidth: 100 })
}

/** A value in one line of YAML. */
export function valueText(value: unknown): string {
  return yaml().stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()
}
