import type { Clock } from '../../../shared/clock.ts'
import type { Config } from '../config/config.ts'
import type { TokenOf } from '../http/token-source.ts'
import type { Stores } from '../stores/stores.ts'

export type OwnOptions = Readonly<{
  config: Config
  /** The path at which an app has the gateway; empty for one by itself. */
  prefix: string
  stores: Stores
  /** Finds the token of a request. */
  tokenOf: TokenOf
  clock: Clock
}>
