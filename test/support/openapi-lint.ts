import { lint, loadConfig } from '@redocly/openapi-core'
import { fileURLToPath } from 'node:url'

// From a file, because the types of a configuration in code take the compiler four seconds.
const configPath = fileURLToPath(new URL('redocly.yaml', import.meta.url))

/** The faults of an OpenAPI document by itself: structure, references, examples. */
export async function lintFaults(file: string): Promise<string[]> {
  const problems = await lint({ ref: file, config: await loadConfig({ configPath }) })
  return problems.map(({ ruleId, message, location }) => {
    return `${location[0]?.pointer ?? file}: ${message} (${ruleId})`
  })
}
