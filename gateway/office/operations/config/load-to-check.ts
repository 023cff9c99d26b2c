import { counted } from '../../../../shared/commas.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { CompleteFile } from '../../config/defaults.ts'
import { findingLine, type Finding } from '../../config/finding.ts'
import { draftOf } from '../../config/interpret.ts'
import type { Loaded } from '../../config/load.ts'
import type { Environment } from '../../config/variables.ts'
import type { Said } from '../operation.ts'
import type { Content } from '../parameter.ts'

/** Loads a configuration to check, or says what is found in one that can't be used here. */
export async function loadToCheck(
  { name, read }: Content,
  environment: Environment,
  { unset }: Readonly<{ unset: 'ok' | undefined }>,
): Promise<Loaded | Said> {
  const { loadedFrom, previewOfSet } = await import('../../config/load.ts')
  try {
    const text = read()
    const preview = unset && previewOfSet(text, environment, name)
    if (!preview || preview.unset.length === 0) return loadedFrom(text, environment, name)
    const { findings, shown, unset: names } = preview
    return { json: checkJson(name, findings, names), text: checkText(name, findings, shown, names) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const findings = error.findings.length > 0 ? error.findings : [wholeOf(name, error)]
    const json = { ...checkJson(name, findings), more: error.more || undefined }
    return { json, text: undefined, error }
  }
}

/** The result of a check for programs, with the variables that aren't set where that was asked for. */
export function checkJson(file: string, findings: readonly Finding[], unset?: readonly string[]) {
  const those = (wanted: boolean) =>
    findings.flatMap(({ isWarning, ...rest }) => (isWarning === wanted ? [rest] : []))
  const [mistakes, warnings] = [those(false), those(true)]
  return { file, sound: mistakes.length === 0, mistakes, warnings, ...(unset && { unset }) }
}

/** The result of a check for people: a line for each finding, and a sentence about a file without mistakes. */
export function checkText(
  file: string,
  findings: readonly Finding[],
  sound: CompleteFile | undefined,
  unset: readonly string[] = [],
): string {
  return [...findings.map(findingLine), ...(sound ? [soundText(file, sound, unset)] : [])].join(
    '\n',
  )
}

function soundText(
  name: string,
  { plans, routes, upstreams, headers }: CompleteFile,
  unset: readonly string[],
): string {
  const parts = [
    counted(Object.keys(plans).length, 'plan'),
    counted(routes.length, 'route'),
    counted(Object.keys(upstreams).length, 'upstream'),
  ]
  const left = counted(unset.length, 'variable')
  const lacking = unset.length === 0 ? '' : ` Not set: ${left} (${unset.join(', ')}).`
  const draft = draftOf(headers.ietf)
  const fields = draft ? ` RateLimit and RateLimit-Policy are sent as of ${draft}.` : ''
  return `${name} is valid: ${parts.join(', ')}.${fields}${lacking}`
}

function wholeOf(name: string, { message }: ConfigError): Finding {
  return { file: name, line: null, column: null, place: '', message, isWarning: false }
}
