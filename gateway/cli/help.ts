import { optionsOf, type Command } from './command.ts'
import { aligned } from './table.ts'

/** What there is, a line a command. */
export function overview(commands: readonly Command[], below = ''): string {
  const lines = commands.map(({ name, args = [], summary }) => [
    `  ${[name, ...args].join(' ')}`,
    summary,
  ])
  return (
    `tollgate: keys and plans of the gateway\n\n` +
    `Usage: tollgate ${below || 'COMMAND'} [OPTIONS]\n\n${aligned(lines)}\n\n` +
    `Every command takes --config FILE, --json and --help; tollgate --version tells the version.\n` +
    `Exit codes: 0 done, 1 refused or not found, 2 wrong usage or configuration.\n`
  )
}

/** What one command does and takes. */
export function explain(command: Command): string {
  const { name, args = [], summary, details } = command
  const lines = Object.entries(optionsOf(command)).map(([option, { value, help }]) => [
    `  --${option}${value ? ` ${value}` : ''}`,
    help,
  ])
  return (
    `${summary}\n\nUsage: ${['tollgate', name, ...args].join(' ')} [OPTIONS]\n\n` +
    `${details ? `${details}\n\n` : ''}${aligned(lines)}\n`
  )
}
