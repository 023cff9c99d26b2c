#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { progressBar } from '../../shared/progress.ts'
import { UnfitSqlite } from '../../shared/sqlite-pair.ts'
import { ConfigError, configFile, readConfig } from '../config/load.ts'
import { desksFor } from '../desks.ts'
import { isLine } from '../keys/settings.ts'
import { openStores, type Stores } from '../stores/open.ts'
import { banCommands } from './bans.ts'
import { configCommands } from './config.ts'
import { inputOf, text, UsageError, type Command } from './command.ts'
import { deprecationCommands } from './deprecations.ts'
import { explain, overview } from './help.ts'
import { keyCommands } from './keys.ts'
import { storeCommands } from './store.ts'
import { upstreamCommands } from './upstreams.ts'
import { printable } from './table.ts'
import { usageCommands } from './usage.ts'

const commands: readonly Command[] = [
  ...keyCommands,
  ...banCommands,
  ...usageCommands,
  ...upstreamCommands,
  ...deprecationCommands,
  ...configCommands,
  ...storeCommands,
]

process.exitCode = await main(process.argv.slice(2)).catch(failed)

async function main(words: string[]): Promise<number> {
  const command = commands.find(({ name }) => `${words.join(' ')} `.startsWith(`${name} `))
  if (!command) return explainAll(words)
  const input = inputOf(command, words.slice(command.name.split(' ').length))
  if (input.values['help']) return say(explain(command))
  const file = text(input, 'config') ?? configFile()
  // A file that is named to be looked at stands for the one that commands go by.
  const [named] = command.args?.[0] === '[FILE]' ? input.args : []
  const { config, shown } = readConfig(named ?? file)
  let opened: Stores | undefined
  const stores = (): Stores => (opened ??= openStores(config.store, { visits: true }))
  const by = text(input, 'by') ?? userName()
  if (!isLine(by)) {
    throw new UsageError('--by must be a line of 1 to 255 characters, none of them invisible')
  }
  try {
    const output = await command.run(
      {
        config,
        shown,
        configFile: named ?? file,
        stores,
        desks: () => desksFor({ stores: stores(), plans: config.plans, clock: Date.now, by }),
        secret: process.env['GATEWAY_SECRET'],
        adminToken: process.env['ADMIN_TOKEN'],
        by,
        clock: Date.now,
        progress: (label, total) => progressBar(process.stderr, label, total),
      },
      input,
    )
    say(input.values['json'] ? `${jsonText(output.json)}\n` : `${output.text}\n`)
    return output.isRefused ? 1 : 0
  } finally {
    await opened?.close()
  }
}

/** Who runs this; in a container it may be nobody by name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'somebody'
  }
}

function version(): string {
  const file = new URL('../../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/** No command was named, or none that there is: what there is, to who asked and to who erred. */
function explainAll(words: string[]): number {
  const [group] = words
  const near = commands.filter(({ name }) => name.split(' ')[0] === group)
  if (words[0] === '--version') return say(`${version()}\n`)
  const asked =
    words.length === 0 ||
    (words.length === 1 && near.length > 0) ||
    words.some((word) => word === '--help' || word === 'help')
  const help = near.length > 0 ? overview(near, `${group} COMMAND`) : overview(commands)
  if (asked) return say(help)
  process.stderr.write(`tollgate: there is no command "${words.join(' ')}"\n\n${help}`)
  return 2
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

function say(output: string): number {
  process.stdout.write(output)
  return 0
}

function failed(error: unknown): number {
  const sentence = sentenceOf(error).split('\n').map(printable).join('\n')
  process.stderr.write(`tollgate: ${sentence}\n`)
  const mustChange = [UsageError, ConfigError, UnfitSqlite]
  return mustChange.some((kind) => error instanceof kind) ? 2 : 1
}
