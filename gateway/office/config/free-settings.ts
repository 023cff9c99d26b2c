import type { Config, RedisSettings } from '../../front/config/config.ts'
import type { Path } from './mistake.ts'

/** The settings of `store.redis` that prove the gateway to it: new connections go by them. */
const proofs: readonly unknown[] = ['username', 'password', 'sentinelUsername', 'sentinelPassword']

/** Whether a setting may change at any time, in a section that otherwise needs a restart. */
export function changesFreely([section, part, setting]: Path): boolean {
  if (section === 'admin') return part === 'trust'
  return section === 'store' && part === 'redis' && proofs.includes(setting)
}

/** A configuration without the settings of fixed sections that may change at any time. */
export function withoutFree(config: Config) {
  const { admin, store } = config
  const redis = store.redis && addressOf(store.redis)
  return { ...config, admin: { ...admin, trust: undefined }, store: { ...store, redis } }
}

function addressOf(redis: RedisSettings): object {
  if (!('url' in redis)) {
    return Object.fromEntries(Object.entries(redis).filter(([name]) => !proofs.includes(name)))
  }
  if (!URL.canParse(redis.url)) return redis
  const url = new URL(redis.url)
  url.username = ''
  url.password = ''
  return { url: url.href }
}
