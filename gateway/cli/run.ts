import { readFileSync } from 'node:fs'
import { withoutTokens } from '../../shared/log.ts'
import { printable } from '../../shared/printable.ts'
import { progressBar, type Screen } from '../../shared/progress.ts'
import { UnfitSqlite } from '../../shared/sqlite-pair.ts'
import { ConfigError, configFile, loadedFrom, readConfig } from '../config/load.ts'
import { desksFor } from '../operations/desks.ts'
import { isLine } from '../keys/settings.ts'
import { openStores, type Stores } from '../stores/open.ts'
import { inputOf } from './arguments.ts'
import { text, UsageError, type Command, type Context } from './command.ts'
import { commands } from './commands.ts'
import { commandMeant, commandWords, explain, overview } from './help.ts'

/** What commands are run in: a process, with somebody at its terminal or nobody. */
export type Surroundings = Readonly<{
  environment: Readonly<Record<string, string | undefined>>
  stdout: Screen
  stderr: Screen
  /** Who runs it, unless told. */
  userName: () => string
  ask: Context['ask']
  /** All of standard input. */
  readInput: () => Promise<string>
  confirm: Context['confirm']
}>

/** How messages call a configuration that no file holds. */
const standardInput = 'standard input'

/** Runs one command, and says what it has to say; gives the exit code. */
export async function run(words: string[], surroundings: Surroundings): Promise<number> {
  const { stdout, stderr } = surroundings
  const warn = (sentence: string): void => void stderr.write(toldOf(sentence))
  try {
    const command = commands.find(({ name }) => `${words.join(' ')} `.startsWith(`${name} `))
    if (command) return await runCommand(command, words, { ...surroundings, warn })
    const { text, isAsked } = explainAll(words)
    if (isAsked) stdout.write(text)
    else warn(text)
    return isAsked ? 0 : 2
  } catch (error) {
    // Editors and other programs look for places at the beginnings of lines.
    const isPlaced = error instanceof ConfigError && error.mistakes.length > 0
    stderr.write(toldOf(sentenceOf(error), isPlaced ? '' : 'tollgate: '))
    const mustChange = [UsageError, ConfigError, UnfitSqlite]
    return mustChange.some((kind) => error instanceof kind) ? 2 : 1
  }
}

async function runCommand(
  command: Command,
  words: string[],
  surroundings: Surroundings & Pick<Context, 'warn'>,
): Promise<number> {
  const { environment, stdout, stderr, userName, ask, confirm, warn } = surroundings
  const input = inputOf(command, words.slice(command.name.split(' ').length))
  const say = (output: string): void => void stdout.write(output)
  if (input.values['help']) {
    say(explain(command))
    return 0
  }
  const file = text(input, 'config') ?? configFile(environment)
  // A file that is named to be looked at stands for the one that commands go by.
  const [named] = command.args?.[0] === '[FILE]' ? input.args : []
  const loaded =
    named === '-'
      ? loadedFrom(await surroundings.readInput(), environment, standardInput)
      : readConfig(named ?? file, environment)
  const { config } = loaded
  let opened: Stores | undefined
  const stores = (): Stores => (opened ??= openStores(config.store, { visits: true }))
  const by = text(input, 'by') ?? (environment['TOLLGATE_BY'] || userName())
  if (!isLine(by)) {
    const which = text(input, 'by') === undefined ? 'TOLLGATE_BY' : '--by'
    throw new UsageError(`${which} must be a line of 1 to 255 characters, none of them invisible`)
  }
  try {
    const output = await command.run(
      {
        config,
        preview: loaded,
        configFile: named === '-' ? standardInput : (named ?? file),
        stores,
        desks: () => desksFor({ stores: stores(), plans: config.plans, clock: Date.now, by }),
        secret: environment['GATEWAY_SECRET'],
        adminToken: environment['ADMIN_TOKEN'],
        hasVariable: (name) => Boolean(environment[name]),
        by,
        clock: Date.now,
        progress: (label, total) => progressBar(stderr, label, total),
        ...{ warn, ask, confirm },
      },
      input,
    )
    say(input.values['json'] ? `${jsonText(output.json)}\n` : `${output.text}\n`)
    return output.isRefused ? 1 : 0
  } finally {
    await opened?.close()
  }
}

function version(): string {
  const file = new URL('../../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** No command was named, or none that there is: what there is, to who asked and to who erred. */
function explainAll(words: string[]): { text: string; isAsked: boolean } {
  const [group] = words
  const near = commands.filter(({ name }) => name.split(' ')[0] === group)
  if (words[0] === '--version') return { text: `${version()}\n`, isAsked: true }
  const isAsked =
    words.length === 0 ||
    (words.length === 1 && near.length > 0) ||
    words.some((word) => ['--help', '-h', 'help'].includes(word))
  const help = near.length > 0 ? overview(near, `${group} COMMAND`) : overview(commands)
  if (isAsked) return { text: help, isAsked }
  const said = commandWords(words)
  const meant = commandMeant(said, commands)
  const sentence = `there is no command "${said.join(' ')}"`
  // That there is such a group, whoever named it knows.
  if (meant === undefined || meant === group)
    return { text: `${sentence}\n\n${help.trimEnd()}`, isAsked }
  return { text: `${sentence}; did you mean ${meant}? tollgate --help lists all`, isAsked }
}

/** One value as JSON, in which what a terminal would obey is escaped as well. */
function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (each) =>
    [...Array(each.length).keys()]
      .map((i) => `\\u${each.charCodeAt(i).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.name === 'MaxRetriesPerRequestError'
    ? 'the Redis of the configuration (store.redis) is out of reach'
    : error.message
}

/** What is no answer, as it is told; somebody may have pasted a token, which is not repeated. */
function toldOf(sentence: string, beginning = 'tollgate: '): string {
  const lines = withoutTokens(sentence).split('\n').map(printable)
  return `${beginning}${lines.join('\n')}\n`
}
