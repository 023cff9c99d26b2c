import type { StoreSettings } from '../config/config.ts'
import { redisName } from './redis/name.ts'

/** The name of a store in messages; never with a password. */
export function storeName({ redis, file }: StoreSettings): string {
  return redis ? redisName(redis) : file
}
