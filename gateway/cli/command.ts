import { parseArgs } from 'node:util'
import type { Config } from '../config/config.ts'
import type { Desks } from '../desks.ts'
import { latestDays } from '../records/usage.ts'
import type { Stores } from '../stores/open.ts'

/** An option of a command: with a `value` it takes one, without it is a switch. */
export type Option = Readonly<{ value?: string; help: string; many?: boolean }>

/** What a command was called with, past its own words. */
export type Input = Readonly<{
  args: readonly string[]
  values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
}>

/** What a command works on; the stores are opened when they are first asked for. */
export type Context = Readonly<{
  config: Config
  /** The same as it is shown: without what is secret. */
  shown: unknown
  /** Where it was read. */
  configFile: string
  stores: () => Stores
  /** Where keys, bans and quotas are changed. */
  desks: () => Desks
  /** What the gateway signs with, if it signs (environment: GATEWAY_SECRET). */
  secret: string | undefined
  /** What the running gateway wants to be asked with (environment: ADMIN_TOKEN). */
  adminToken: string | undefined
  /** Who does it, for the audit. */
  by: string
  clock: () => number
  /** Tells how far a long command is: a bar on a terminal, else a line now and then. */
  progress: (label: string, total: number | undefined) => (done: number) => void
}>

/** What a command has to say: to people, and to programs. */
export type Output = Readonly<{
  text: string
  json: unknown
  /** Whether it is bad news, which programs hear from the exit code. */
  isRefused?: boolean
}>

export type Command = Readonly<{
  /** The words that call it, such as `keys create`. */
  name: string
  /** What it wants besides options, such as `KEY_ID`, or `[FILE]` for what may be left out. */
  args?: readonly string[]
  summary: string
  /** More than the summary, for `--help`. */
  details?: string
  options?: Readonly<Record<string, Option>>
  /** Whether it changes something, so that the audit asks by whom. */
  changes?: boolean
  run: (context: Context, input: Input) => Promise<Output>
}>

/** A command was called in a way that means nothing. */
export class UsageError extends Error {}

/** Options that every command has. */
export const commonOptions: Readonly<Record<string, Option>> = {
  config: { value: 'FILE', help: 'the configuration file (environment: TOLLGATE_CONFIG)' },
  json: { help: 'print one JSON value, for programs' },
  help: { help: 'explain the command' },
}

const byOption: Readonly<Record<string, Option>> = {
  by: { value: 'NAME', help: 'who does it, for the audit; the user of this machine unless told' },
}

/** Which days a report looks at. */
export const daysOption: Option = {
  value: 'N',
  help: 'how many days back, today included: 1 to 90; 90 unless told',
}

/** All the options that a command has. */
export function optionsOf({ options, changes = false }: Command): Readonly<Record<string, Option>> {
  return { ...options, ...(changes ? byOption : {}), ...commonOptions }
}

/** Takes apart what follows a command's name; throws a `UsageError` with a sentence. */
export function inputOf(command: Command, rest: string[]): Input {
  const options = optionsOf(command)
  let parsed
  try {
    parsed = parseArgs({
      args: rest,
      allowPositionals: true,
      options: Object.fromEntries(
        Object.entries(options).map(([name, { value, many = false }]) => [
          name,
          { type: value ? ('string' as const) : ('boolean' as const), multiple: many },
        ]),
      ),
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
  const { values, positionals } = parsed
  const expected = command.args ?? []
  const needed = expected.filter((name) => !name.startsWith('['))
  const isFit = positionals.length >= needed.length && positionals.length <= expected.length
  if (!values['help'] && !isFit) {
    const wanted = expected.length === 0 ? 'no arguments' : expected.join(' ')
    throw new UsageError(`"${command.name}" takes ${wanted}, got "${positionals.join(' ')}"`)
  }
  return { args: positionals, values: values as Input['values'] }
}

/** The text of an option; `undefined` if it isn't given. */
export function text(input: Input, name: string): string | undefined {
  const value = input.values[name]
  return typeof value === 'string' ? value : undefined
}

/** An option that must be given. */
export function required(input: Input, name: string): string {
  const value = text(input, name)
  if (value === undefined) throw new UsageError(`--${name} is needed`)
  return value
}

/** The texts of an option that may be given several times; `undefined` if it isn't given. */
export function texts(input: Input, name: string): readonly string[] | undefined {
  const value = input.values[name]
  return Array.isArray(value) ? value : undefined
}

/** The days that `--days` names, counted from 1970 in UTC. */
export function lastDays(input: Input, nowMs: number): { fromDay: number; toDay: number } {
  const given = text(input, 'days') ?? '90'
  if (!/^(?:[1-9]|[1-8]\d|90)$/.test(given)) {
    throw new UsageError(`--days must be a whole number from 1 to 90, got "${given}"`)
  }
  return latestDays(Number(given), nowMs)
}
