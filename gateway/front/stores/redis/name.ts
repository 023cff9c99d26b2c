import type { RedisSettings } from '../../config/config.ts'

/** The name of a Redis in messages: its address, never with a password. */
export function redisName(settings: RedisSettings): string {
  if ('cluster' in settings) return `the Redis Cluster at ${settings.cluster.join(', ')}`
  if ('sentinels' in settings) {
    return `the Redis "${settings.name}" of the Sentinels at ${settings.sentinels.join(', ')}`
  }
  return `Redis at ${addressOf(settings.url)}`
}

/** Host, port and database. A password may hold an unescaped `@` or `/`, so all text up to the last `@` is cut. */
function addressOf(url: string): string {
  const [address = ''] = url.replace(/^rediss?:(?:\/\/)?/i, '').split(/[?#]/, 1)
  const [, host = '', port = '6379', database] =
    /^(\[[^\]]*\]|[^:/]*)(?::(\d+))?(?:\/(\d+))?/.exec(
      address.slice(address.lastIndexOf('@') + 1),
    ) ?? []
  const named = `${host || '127.0.0.1'}:${port}`
  return database === undefined || database === '0' ? named : `${named}, database ${database}`
}

const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'it closed the connection',
  ETIMEDOUT: 'no answer',
  EHOSTUNREACH: 'the network can’t reach that address',
  ENETUNREACH: 'the network can’t reach that address',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name can’t be looked up at the moment',
  WRONGPASS: 'it refuses this username and password',
  NOAUTH: 'it requires a password',
  NOPERM: 'this username lacks permissions that a gateway needs',
  LOADING: 'it is still loading its data',
  READONLY: 'it is a replica, which refuses writes',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by an unknown authority (rediss://)',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by an unknown authority (rediss://)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is signed by an unknown authority (rediss://)',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
}

/** Why a Redis can't be asked, in plain words. */
export function plainCause(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer'
  // For Sentinels and Clusters, ioredis keeps the last node's error apart.
  const last: unknown = Reflect.get(error, 'lastNodeError') ?? error.cause
  const code: unknown = Reflect.get(error, 'code')
  const named = Object.keys(causes).find(
    (name) => code === name || new RegExp(`\\b${name}\\b`).test(error.message),
  )
  if (named !== undefined) return causes[named] ?? 'no answer'
  if (last instanceof Error) return plainCause(last)
  return /timed out|timeout|did not answer/i.test(error.message) ? 'no answer' : error.message
}
