import type { Closers } from '../../shared/closers.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import type { Certificates } from './certificates.ts'
import type { Config } from './config/config.ts'
import type { Meters } from './counts/meters.ts'
import type { Member } from './fleet/store.ts'
import type { Listening } from './listener.ts'
import type { Stores } from './stores/stores.ts'

/** The needs of all parts of the front, while it opens. */
export type Opening = Readonly<{
  config: Config
  stores: Stores
  meters: Meters
  certificates: Certificates
  member: () => Member
  listening: Listening
  /** Makes the function that logs the beginning and the end of some trouble with the store. */
  trouble: (what: string, whenOver: string) => (error: Error | undefined) => void
  clock: Clock
  log: Log
  closers: Closers
}>
