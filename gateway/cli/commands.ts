import { banCommands } from './bans.ts'
import { configCommands } from './config.ts'
import type { Command } from './command.ts'
import { deprecationCommands } from './deprecations.ts'
import { keyCommands } from './keys.ts'
import { storeCommands } from './store.ts'
import { upstreamCommands } from './upstreams.ts'
import { usageCommands } from './usage.ts'

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  ...keyCommands,
  ...banCommands,
  ...usageCommands,
  ...upstreamCommands,
  ...deprecationCommands,
  ...configCommands,
  ...storeCommands,
]
