import type { Clock } from '../../shared/clock.ts'
import type { Reloader } from '../config/reload.ts'
import type { Desks } from '../operations/desks.ts'
import type { Gateway } from '../server.ts'

/** What the resources work on. */
export type AdminContext = Readonly<{
  gateway: Gateway
  reloader: Reloader
  secret: string | undefined
  clock: Clock
  /** Where whoever has that token changes things. */
  desks: (by: string) => Desks
}>
