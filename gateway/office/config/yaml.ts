import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'

const require = createRequire(import.meta.url)

/**
 * The package that reads and writes YAML. It is loaded here by its first use: all commands load the table of operations, and
 * most have no time for its 72 modules.
 */
export function yaml(): typeof Yaml {
  return require('yaml') as typeof Yaml
}
