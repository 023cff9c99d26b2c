import { andMore } from '../../../../shared/and-more.ts'
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { ConfigError } from '../../config/config-error.ts'
import { findingLine, furtherFinding, type Finding } from '../../config/finding.ts'
import type { Loaded } from '../../config/load.ts'
import type { Environment } from '../../config/variables.ts'
import { WrongInput } from '../../wrong-input.ts'
import type { Said } from '../operation.ts'
import type { Content } from '../parameter.ts'
import { soundText } from './sound-text.ts'

type Options = Readonly<{
  envFile: string | undefined
  unset: 'ok' | undefined
  format: 'github' | undefined
}>

/** Loads a configuration to check, or says what is found in one that can't be used here. */
export async function loadToCheck(
  { name, read }: Content,
  environment: Environment,
  { envFile, unset, format }: Options,
): Promise<Loaded | Said> {
  const { loadedFrom, previewOfSet } = await import('../../config/load.ts')
  const variables = envFile === undefined ? environment : withFile(environment, envFile)
  try {
    const text = read()
    const preview = unset && previewOfSet(text, variables, name)
    if (!preview || preview.unset.length === 0) return loadedFrom(text, variables, name)
    const { findings, shown, unset: names } = preview
    return {
      json: checkJson(name, findings, names),
      text: `${findingsText(findings, format)}${soundText(name, shown, names)}`,
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const findings = error.findings.length > 0 ? error.findings : [wholeOf(name, error)]
    const { more } = error
    const all = more === 0 ? findings : [...findings, furtherFinding(andMore(more), false)]
    const text = format && findingsText(all, format).trimEnd()
    return { json: { ...checkJson(name, findings), more: more || undefined }, text, error }
  }
}

/** The result of a check for programs, with the variables that aren't set where that was asked for. */
export function checkJson(file: string, findings: readonly Finding[], unset?: readonly string[]) {
  const those = (wanted: boolean) =>
    findings.flatMap(({ isWarning, ...rest }) => (isWarning === wanted ? [rest] : []))
  const [mistakes, warnings] = [those(false), those(true)]
  return { file, sound: mistakes.length === 0, mistakes, warnings, ...(unset && { unset }) }
}

/** Findings for people, or for GitHub: a line each. */
export function findingsText(findings: readonly Finding[], format: Options['format']): string {
  const lines = format === 'github' ? annotations(findings) : findings.map(findingLine)
  return lines.map((line) => `${line}\n`).join('')
}

function wholeOf(name: string, { message }: ConfigError): Finding {
  return { file: name, line: null, column: null, place: '', message, isWarning: false }
}

/**
 * An environment, with a file's variables where it has none. An empty variable counts as not set. Node has an option of this
 * name and reads the file as well, before any of our code runs.
 */
function withFile(environment: Environment, file: string): Environment {
  try {
    const set = Object.entries(environment).filter(([, value]) => value)
    return { ...parseEnv(readFileSync(file, 'utf8')), ...Object.fromEntries(set) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new WrongInput(`--env-file ${file} can't be read: ${reason}`)
  }
}

/** Findings as commands of a workflow of GitHub's, which shows them beside the lines of a change. */
function annotations(findings: readonly Finding[]): string[] {
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
