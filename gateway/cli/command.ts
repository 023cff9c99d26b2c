import type { Config } from '../config/config.ts'
import type { Preview } from '../config/load.ts'
import type { Desks } from '../operations/desks.ts'
import type { Key } from '../keys/key.ts'
import { latestDays } from '../records/usage.ts'
import type { Stores } from '../stores/open.ts'
import { rememberedDays } from '../records/tally-store.ts'
import { dayCount, type Kind } from '../operations/values.ts'

/** An option of a command: with a `value` it takes one, without it is a switch. */
export type Option = Readonly<{
  value?: string
  help: string
  many?: boolean
  /** The rule for its value; the help tells it, and it is checked before the command runs. */
  kind?: Kind<unknown>
  /** What it is as good as if it is left out. */
  unlessTold?: string
}>

/** What a command was called with, past its own words. */
export type Input = Readonly<{
  args: readonly string[]
  values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
}>

/** What a command works on; the stores are opened when they are first asked for. */
export type Context = Readonly<{
  config: Config
  /** The same as it is written: how it is shown, and what may be wrong with it. */
  preview: Preview
  /** Where it was read. */
  configFile: string
  stores: () => Stores
  /** Where keys, bans and quotas are changed. */
  desks: () => Desks
  /** What the gateway signs with, if it signs (environment: GATEWAY_SECRET). */
  secret: string | undefined
  /** What the running gateway wants to be asked with (environment: ADMIN_TOKEN). */
  adminToken: string | undefined
  /** Whether a variable of the environment is set. */
  hasVariable: (name: string) => boolean
  /** Who does it, for the audit. */
  by: string
  clock: () => number
  /** Tells how far a long command is: a bar on a terminal, else a line now and then. */
  progress: (label: string, total: number | undefined) => (done: number) => void
  /** Tells what is no answer. */
  warn: (sentence: string) => void
  /** A line from standard input; asks for it on a terminal. */
  ask: (question: string) => Promise<string>
  /** Whether somebody at a terminal agrees; where there is none, nobody is asked. */
  confirm: (question: string) => Promise<boolean>
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
  /** What it wants besides options, such as `KEY`, or `[FILE]` for what may be left out. */
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
  by: {
    value: 'NAME',
    help: 'who does it, for the audit (environment: TOLLGATE_BY)',
    unlessTold: 'the user of this machine',
  },
}

/** Which days a report looks at. */
export const daysOption: Option = {
  value: 'N',
  help: 'how many days back, today included',
  kind: dayCount,
  unlessTold: String(rememberedDays),
}

/** All the options that a command has. */
export function optionsOf({ options, changes = false }: Command): Readonly<Record<string, Option>> {
  return { ...options, ...(changes ? byOption : {}), ...commonOptions }
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

/** The value of an option that is of a kind; `undefined` if it isn't given. */
export function valueOf<Value>(
  input: Input,
  name: string,
  { mayBe, read }: Kind<Value>,
): Value | undefined {
  const given = text(input, name)
  if (given === undefined) return undefined
  const value = read(given)
  if (value !== undefined) return value
  throw new UsageError(`--${name} must be ${mayBe}, got "${given}"`)
}

/** The days that `--days` names, counted from 1970 in UTC. */
export function lastDays(input: Input, nowMs: number): { fromDay: number; toDay: number } {
  return latestDays(valueOf(input, 'days', dayCount) ?? rememberedDays, nowMs)
}

/** The key that a command was called with. */
export async function keyOf(context: Context, input: Input): Promise<Key> {
  const [given = ''] = input.args
  const reference = given === '-' ? await context.ask('Id, name or token: ') : given
  const { key, byToken } = await context.desks().keys.find(reference)
  if (byToken && given !== '-') {
    context.warn(
      `a token is a secret, and this one is now in the history of your shell: if others can read that, rotate ` +
        `the key. Name it by its id, ${key.id}; or write - and give the token when it is asked for`,
    )
  }
  return key
}
