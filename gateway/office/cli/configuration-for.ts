import type { AdminAddress } from '../../front/config/config.ts'
import { configFile, textOf as textOfFile } from '../config/file-text.ts'
import { ConfigError } from '../config/config-error.ts'
import type { Loaded } from '../config/load.ts'
import type { Salvaged } from '../config/salvage.ts'
import type { RunningConfig } from '../operations/config/running.ts'
import type { Operation, Said, WorkingOperation } from '../operations/operation.ts'
import type { Content } from '../operations/parameter.ts'
import type { Input } from './arguments.ts'
import { textOf } from './given.ts'
import { argumentsOf } from './options.ts'
import type { Surroundings } from './surroundings.ts'

/** The name in messages of a configuration that comes from standard input. */
const standardInput = 'standard input'

/** The text of a command's configuration: of the file that it is to look at if one is named, else that of `--config`. */
export async function configurationFor(
  operation: Operation,
  input: Input,
  { environment, readInput }: Surroundings,
): Promise<Content> {
  const position = placeOfFile(operation)
  const named = position < 0 ? undefined : input.args[position]
  if (named === '-') {
    const text = await readInput()
    return { name: standardInput, read: () => text }
  }
  const name = named ?? textOf(input, 'config') ?? configFile(environment)
  let text: string | undefined
  // Once: what is printed is what was checked.
  return { name, read: () => (text ??= textOfFile(name)) }
}

/** Commands that need a file without mistakes. All others go on, as the gateway does. */
const strict = /^(?:config (?:check|diff|edit|set|show)|plans preview|store )/

type Going = Readonly<{
  environment: Surroundings['environment']
  values: Readonly<Record<string, unknown>>
  /** The configuration in force in the gateway at an address. */
  askRunning: (address: AdminAddress) => Promise<RunningConfig>
}>

/**
 * Loads the configuration of a command. Throws a `ConfigError` with all mistakes, unless the command tells them itself, or goes
 * on in spite of them.
 */
export async function loadedBy(
  operation: WorkingOperation,
  configuration: Content,
  { environment, values, askRunning }: Going,
): Promise<Loaded | Said | Salvaged> {
  if (operation.load) return operation.load(configuration, environment, values)
  const isOfConfig = placeOfFile(operation) >= 0 || operation.name.startsWith('config ')
  const { loadedFrom } = await import('../config/load.ts')
  const { name } = configuration
  const text = configuration.read()
  try {
    return loadedFrom(text, environment, name, isOfConfig ? 'gateway' : 'command')
  } catch (error) {
    const isStrict = placeOfFile(operation) >= 0 || strict.test(operation.name)
    if (isStrict || !(error instanceof ConfigError) || error.mistakes.length === 0) throw error
    const { salvaged } = await import('../config/salvage.ts')
    return salvaged({ text, environment, name, error }, askRunning)
  }
}

/** The position of a command's configuration among its arguments; -1 if it has none there. */
function placeOfFile(operation: Operation): number {
  return argumentsOf(operation).findIndex(({ name }) => {
    const parameter = operation.parameters[name]
    return parameter && 'types' in parameter && parameter.isConfig
  })
}
