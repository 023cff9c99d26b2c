import type { fileSchema } from './schema.ts'
import type { Written } from './settings/setting.ts'

/** The configuration file as programs write it. */
export type ConfigFile = Written<typeof fileSchema>
