import { nearest } from '../../../shared/near.ts'
import { version } from '../../../shared/version.ts'
import { operations } from '../operations/all.ts'
import type { Operation } from '../operations/operation.ts'
import { calledBy, tokensOf } from './arguments.ts'
import { explain, overview } from './help.ts'
import { commonOptions } from './options.ts'

/** By a command that has been removed: the commands and settings that do its work. */
const replacements = [
  [
    'simulate',
    'plans preview tells whom other limits would have refused, plans demand how high quotas came, ' +
      'and shadow limits count what they would refuse from now on',
  ],
  [
    'upstream compare',
    'upstream check compares another backend by probes, and a swap moves callers there step by step ' +
      'and back by itself',
  ],
] as const

/**
 * The list of commands, the version, or a sentence about an unknown command. `isAsked`: the user asked for help, so it
 * goes to standard output with exit code 0.
 */
export function explainAll(words: string[]): { text: string; isAsked: boolean } {
  if (words.includes('--version')) return { text: `${version()}\n`, isAsked: true }
  const { positionals, values } = tokensOf(commonOptions, words)
  const named = positionals.filter((word) => word !== 'help')
  const former = replacements.find(([name]) => `${named.join(' ')} `.startsWith(`${name} `))
  if (former) {
    return { text: `the command "${former[0]}" no longer exists: ${former[1]}`, isAsked: false }
  }
  const asksForHelp = named.length < positionals.length || values['help'] === true
  const called = asksForHelp ? calledBy(named, operations) : undefined
  if (called) return { text: explain(called.operation), isAsked: true }
  const length = groupLength(named)
  const group = named.slice(0, length).join(' ')
  const isGroup = length > 0 && length === named.length
  if (asksForHelp || isGroup || words.length === 0) {
    const below = operations.filter(({ name }) => `${name} `.startsWith(group && `${group} `))
    return { text: overview(below, group && `${group} COMMAND`), isAsked: true }
  }
  const name = commandWords(positionals.length > 0 ? positionals : words, length)
  const suggestion = nearestCommand(name, operations)
  // The user has typed this group already.
  const hint =
    suggestion === undefined || suggestion === group ? '' : `; did you mean ${suggestion}?`
  const help = group === '' ? 'tollgate --help' : `tollgate ${group} --help`
  const more = hint === '' ? `; ${help} lists all` : ` ${help} lists all`
  return { text: `there is no command "${name.join(' ')}"${hint}${more}`, isAsked: false }
}

/** The number of words with which several commands begin, such as `keys` and `upstream swap`. */
function groupLength(words: readonly string[]): number {
  const isGroup = (length: number): boolean => {
    const beginning = `${words.slice(0, length).join(' ')} `
    return operations.some(({ name }) => name.startsWith(beginning))
  }
  const end = words.findIndex((_, i) => !isGroup(i + 1))
  return end < 0 ? words.length : end
}

/** The words that could be a command's name, one or two or one behind its group: no options, ids or tokens. */
function commandWords(words: readonly string[], groupLength: number): readonly string[] {
  const end = words.findIndex((word) => !/^[a-z][a-z-]*$/i.test(word))
  const most = Math.max(2, groupLength + 1)
  const names = words.slice(0, end < 0 ? most : Math.min(most, end))
  return names.length > 0 ? names : words.slice(0, 1)
}

/** The command or group whose name is nearest to some words. */
function nearestCommand(
  words: readonly string[],
  commands: readonly Operation[],
): string | undefined {
  const names = commands.flatMap(({ name }) => [name, name.split(' ')[0] ?? name])
  const tries = [words.join(' '), words[0] ?? '', [...words].reverse().join(' ')]
  for (const phrase of tries) {
    const near = phrase === '' ? undefined : nearest(phrase, names)
    if (near !== undefined) return near
  }
  return undefined
}
