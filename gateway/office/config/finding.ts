/** A mistake or a warning, as programs get it. One about no place of a file has no line, column or file. */
export type Finding = Readonly<{
  file: string | null
  line: number | null
  column: number | null
  /** The setting, such as `plans.free.perMinute`; empty for the whole file. */
  place: string
  message: string
  isWarning: boolean
}>

/** A finding about the others, which aren't told. */
export function furtherFinding(message: string, isWarning: boolean): Finding {
  return { file: null, line: null, column: null, place: '', message, isWarning }
}

/** A finding in one line, as people and editors read it. */
export function findingLine({ file, line, column, message, isWarning }: Finding): string {
  if (line === null) return message
  return `${file}:${line}:${column}: ${isWarning ? 'warning: ' : ''}${message}`
}
