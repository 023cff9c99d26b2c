import { stringify } from 'yaml'
import { maskedJson } from './mask.ts'
import type { CompleteFile } from './written.ts'

/** A complete file as it is shown: in the form of a file, without what is secret in it. */
export function shownFrom(file: CompleteFile): unknown {
  return JSON.parse(JSON.stringify(file, maskedJson))
}

/** What is shown as YAML, for people. */
export function configText(shown: unknown): string {
  return stringify(shown, { lineWidth: 100 })
}

/** A value as one would write it in a line of a file. */
export function valueText(value: unknown): string {
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()
}
