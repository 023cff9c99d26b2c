import type { Finding } from '../../config/finding.ts'

/** Findings as commands of a workflow of GitHub's, which shows them beside the lines of a change. */
export function annotations(findings: readonly Finding[]): string[] {
  return findings.map(({ file, line, column, place, message, isWarning }) => {
    const about = Object.entries({ file, line, col: column, title: place || null }).flatMap(
      ([name, value]) => (value === null ? [] : `${name}=${escaped(String(value), /[%\r\n:,]/g)}`),
    )
    const kind = isWarning ? 'warning' : 'error'
    return `::${[kind, about.join()].join(' ').trimEnd()}::${escaped(message, /[%\r\n]/g)}`
  })
}

function escaped(text: string, special: RegExp): string {
  return text.replace(special, (character) => encodeURIComponent(character))
}
