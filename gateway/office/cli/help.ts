import type { Operation } from '../operations/operation.ts'
import { aligned } from '../operations/table.ts'
import { examplesOf } from './examples.ts'
import { argumentWords, optionsOf, type Option } from './options.ts'

/** The most columns of the help of one command. */
const mostColumns = 80

const ofKey =
  'KEY is the id of a key, or a name that no other key has; - takes it, or a token,\nfrom standard input.'

/** The headings in the list of all commands, each with the first words of the commands below it. */
const headings: readonly (readonly [heading: string, firstWords: string])[] = [
  ['Refusals, and the traffic now', 'explain requests now'],
  ['Keys, JWT, bans and quotas', 'keys jwt bans quota'],
  ['Usage and audit', 'usage audit'],
  ['Plans, and whom other limits would refuse', 'plans shadow'],
  ['Backends, gateways and notices', 'upstream gateways notices'],
  ['Deprecations', 'deprecations'],
  ['Any gateway, from outside', 'prove'],
  ['Configuration', 'config'],
  ['Stores', 'store'],
]

/** The list of some commands, one line each; that of all has headings. */
export function overview(commands: readonly Operation[], below = ''): string {
  const rows = commands.map((command) => [
    `  ${[command.name, ...argumentWords(command)].join(' ')}`,
    command.summary,
  ])
  const lines = aligned(rows).split('\n')
  let current: string | undefined
  const list = commands.flatMap(({ name }, i) => {
    const heading = below === '' ? headingOf(name) : undefined
    const isNew = heading !== current
    current = heading
    return isNew ? [...(i > 0 ? [''] : []), `${heading}:`, lines[i]] : lines[i]
  })
  return (
    `tollgate: keys and plans of the gateway\n\n` +
    `Usage: tollgate ${below || 'COMMAND'} [OPTIONS]\n\n${list.join('\n')}\n\n` +
    `${ofKey}\n` +
    `Every command takes --config FILE, --json and --help; tollgate --version prints the version.\n` +
    `Exit codes: 0 done, 1 refused or not found, 2 wrong usage or configuration.\n`
  )
}

function headingOf(name: string): string | undefined {
  const [first = ''] = name.split(' ')
  return headings.find(([, firstWords]) => firstWords.split(' ').includes(first))?.[0]
}

/** The help of one command: its purpose, arguments and options. */
export function explain(command: Operation): string {
  const { name, summary, details } = command
  const args = argumentWords(command)
  const options = Object.entries(optionsOf(command)).map(([option, settings]): [string, string] => [
    `  --${option}${valueText(settings)}`,
    helpOf(settings),
  ])
  const aside = Math.max(...options.map(([option]) => option.length)) + 2
  const lines = options.flatMap(([option, help]) => {
    const [first = '', ...rest] = wrapped(help, mostColumns - aside)
    return [option.padEnd(aside) + first, ...rest.map((line) => ' '.repeat(aside) + line)]
  })
  return (
    `${summary}\n\nUsage: ${['tollgate', name, ...args].join(' ')} [OPTIONS]\n\n` +
    paragraphs(details) +
    `${args.some((arg) => /KEY/.test(arg)) ? `${ofKey}\n\n` : ''}${lines.join('\n')}\n\n` +
    `Examples:\n${examplesOf(name)
      .map((each) => `  ${each}\n`)
      .join('')}`
  )
}

function valueText({ value, bare }: Option): string {
  if (!value) return ''
  return bare ? ` [${value}]` : ` ${value}`
}

/** The help of one option, with its rule and its default. */
function helpOf({ help, expected, defaultText, many }: Option): string {
  return (
    help +
    (expected === undefined ? '' : `: ${expected}`) +
    (defaultText === undefined ? '' : `; default: ${defaultText}`) +
    (many ? ' (may be repeated)' : '')
  )
}

/** Paragraphs in lines that fit a terminal, each with an empty line behind it. */
function paragraphs(text = ''): string {
  return text
    .split('\n\n')
    .filter((each) => each !== '')
    .map((each) => `${wrapped(each.replaceAll('\n', ' '), mostColumns).join('\n')}\n\n`)
    .join('')
}

/** A text in lines of at most `width` columns; a longer word gets a line of its own. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${line} ${word}`
    } else lines.push(word)
  }
  return lines
}
