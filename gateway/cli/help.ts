import { nearest } from '../config/near.ts'
import { optionsOf, type Command, type Option } from './command.ts'
import { aligned } from './table.ts'

/** How wide the help of one command is at most. */
const widest = 80

const ofKey =
  'KEY is the id of a key, or a name that no other key has; - takes it, or a token,\nfrom standard input.'

/** What there is, a line a command. */
export function overview(commands: readonly Command[], below = ''): string {
  const lines = commands.map(({ name, args = [], summary }) => [
    `  ${[name, ...args].join(' ')}`,
    summary,
  ])
  return (
    `tollgate: keys and plans of the gateway\n\n` +
    `Usage: tollgate ${below || 'COMMAND'} [OPTIONS]\n\n${aligned(lines)}\n\n` +
    `${ofKey}\n` +
    `Every command takes --config FILE, --json and --help; tollgate --version tells the version.\n` +
    `Exit codes: 0 done, 1 refused or not found, 2 wrong usage or configuration.\n`
  )
}

/** What one command does and takes. */
export function explain(command: Command): string {
  const { name, args = [], summary, details } = command
  const options = Object.entries(optionsOf(command)).map(([option, settings]): [string, string] => [
    `  --${option}${settings.value ? ` ${settings.value}` : ''}`,
    told(settings),
  ])
  const aside = Math.max(...options.map(([option]) => option.length)) + 2
  const lines = options.flatMap(([option, help]) => {
    const [first = '', ...rest] = wrapped(help, widest - aside)
    return [option.padEnd(aside) + first, ...rest.map((line) => ' '.repeat(aside) + line)]
  })
  return (
    `${summary}\n\nUsage: ${['tollgate', name, ...args].join(' ')} [OPTIONS]\n\n` +
    paragraphs(details) +
    `${args.some((arg) => /KEY/.test(arg)) ? `${ofKey}\n\n` : ''}${lines.join('\n')}\n`
  )
}

/** The first words, as far as they could be a command: no options, ids or tokens. */
export function commandWords(words: readonly string[]): readonly string[] {
  const end = words.findIndex((word) => !/^[a-z][a-z-]*$/i.test(word))
  const said = words.slice(0, end < 0 ? 2 : Math.min(2, end))
  return said.length > 0 ? said : words.slice(0, 1)
}

/** The command that was most likely meant by words that call none. */
export function commandMeant(
  said: readonly string[],
  commands: readonly Command[],
): string | undefined {
  const names = commands.flatMap(({ name }) => [name, name.split(' ')[0] ?? name])
  const tries = [said.join(' '), said[0] ?? '', [...said].reverse().join(' ')]
  for (const each of tries) {
    const near = each === '' ? undefined : nearest(each, names)
    if (near !== undefined) return near
  }
  return undefined
}

function told({ help, kind, unlessTold, many }: Option): string {
  return (
    help +
    (kind ? `: ${kind.mayBe}` : '') +
    (unlessTold === undefined ? '' : `; ${unlessTold} unless told`) +
    (many ? ' (may be repeated)' : '')
  )
}

/** Paragraphs as wide as a terminal, each with an empty line behind it. */
function paragraphs(text = ''): string {
  return text
    .split('\n\n')
    .filter((each) => each !== '')
    .map((each) => `${wrapped(each.replaceAll('\n', ' '), widest).join('\n')}\n\n`)
    .join('')
}

/** A text in lines that are no longer than that, as far as its words let it. */
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
