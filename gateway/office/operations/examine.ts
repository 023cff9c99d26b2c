import type { Pieces } from '../../../shared/pieces.ts'
import { ConfigError } from '../config/config-error.ts'
import { previewConfig } from '../config/preview.ts'
import type { Environment } from '../config/variables.ts'
import type { Examined } from './context.ts'
import type { Content } from './parameter.ts'

/** Checks a configuration without the values of the environment, which may hold others' tokens. */
export function* examine(file: Content, environment: Environment): Pieces<Examined> {
  try {
    const preview = yield* previewConfig(file.read(), environment, file.name)
    return { preview, mistakes: [] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { mistakes: error.mistakes }
  }
}
