import { configFile } from '../config/file-text.ts'
import { loadedFrom, readConfig, type Loaded } from '../config/load.ts'
import type { Operation } from '../operations/operation.ts'
import type { Input } from './arguments.ts'
import { textOf } from './given.ts'
import { argumentsOf } from './options.ts'
import type { Surroundings } from './surroundings.ts'

/** The name in messages of a configuration that comes from standard input. */
const standardInput = 'standard input'

/** The configuration of a command: the file that it is to look at if one is named, else that of `--config`. */
export async function configurationFor(
  operation: Operation,
  input: Input,
  { environment, readInput }: Surroundings,
): Promise<{ loaded: Loaded; name: string }> {
  const position = argumentsOf(operation).findIndex(({ name }) => {
    const parameter = operation.parameters[name]
    return parameter && 'types' in parameter && parameter.isConfig
  })
  const named = position < 0 ? undefined : input.args[position]
  if (named === '-') {
    return {
      loaded: loadedFrom(await readInput(), environment, standardInput),
      name: standardInput,
    }
  }
  const file = named ?? textOf(input, 'config') ?? configFile(environment)
  const isOfConfig = position >= 0 || operation.name.startsWith('config ')
  return { loaded: readConfig(file, environment, isOfConfig), name: file }
}
