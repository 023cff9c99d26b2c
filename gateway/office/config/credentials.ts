import type { Config, RedisSettings } from '../../front/config/config.ts'
import type { Path } from './mistake.ts'

/** The settings of `store.redis` that prove the gateway to it. New connections go by them, so they may change at any time. */
const credentials: readonly unknown[] = [
  'username',
  'password',
  'sentinelUsername',
  'sentinelPassword',
]

/** Whether a place of the file is that of a credential for Redis. */
export function isCredential([section, part, setting]: Path): boolean {
  return section === 'store' && part === 'redis' && credentials.includes(setting)
}

/** A configuration without its credentials for Redis. */
export function withoutCredentials(config: Config): Omit<Config, 'store'> & { store: object } {
  const { store } = config
  return { ...config, store: { ...store, redis: store.redis && addressOf(store.redis) } }
}

function addressOf(redis: RedisSettings): object {
  if (!('url' in redis)) {
    return Object.fromEntries(Object.entries(redis).filter(([name]) => !credentials.includes(name)))
  }
  if (!URL.canParse(redis.url)) return redis
  const url = new URL(redis.url)
  url.username = ''
  url.password = ''
  return { url: url.href }
}
