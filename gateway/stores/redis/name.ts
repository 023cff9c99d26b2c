import type { RedisSettings } from '../../config/config.ts'

/** How messages call a Redis: where it is, and never with what one proves oneself to it. */
export function redisName(settings: RedisSettings): string {
  if ('cluster' in settings) return `the Redis Cluster at ${settings.cluster.join(', ')}`
  if ('sentinels' in settings) {
    return `the Redis "${settings.name}" of the Sentinels at ${settings.sentinels.join(', ')}`
  }
  return `Redis at ${placeOf(settings.url)}`
}

/** Host, port and database. A password may hold an `@` or a `/` that nobody has escaped: all up to the last `@` goes. */
function placeOf(url: string): string {
  const [place = ''] = url.replace(/^rediss?:(?:\/\/)?/i, '').split(/[?#]/, 1)
  const [, host = '', port = '6379', database] =
    /^(\[[^\]]*\]|[^:/]*)(?::(\d+))?(?:\/(\d+))?/.exec(place.slice(place.lastIndexOf('@') + 1)) ??
    []
  const named = `${host || '127.0.0.1'}:${port}`
  return database === undefined || database === '0' ? named : `${named}, database ${database}`
}

const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'it ended the connection',
  ETIMEDOUT: 'no answer',
  EHOSTUNREACH: 'there is no way to that address',
  ENETUNREACH: 'there is no way to that address',
  ENOTFOUND: 'nobody knows that name',
  EAI_AGAIN: 'the name can’t be looked up just now',
  WRONGPASS: 'it doesn’t take this username and password',
  NOAUTH: 'it wants a password',
  NOPERM: 'this username may not do what a gateway does',
  LOADING: 'it is still loading its data',
  READONLY: 'it is a replica, which takes no changes',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by nobody whom we believe (rediss://)',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by nobody whom we believe (rediss://)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate is signed by nobody whom we believe (rediss://)',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
}

/** Why a Redis can't be asked, in plain words. */
export function plainCause(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer'
  // ioredis says what the last one said, of Sentinels and of the nodes of a Cluster.
  const last: unknown = Reflect.get(error, 'lastNodeError') ?? error.cause
  const code: unknown = Reflect.get(error, 'code')
  const named = Object.keys(causes).find(
    (name) => code === name || new RegExp(`\\b${name}\\b`).test(error.message),
  )
  if (named !== undefined) return causes[named] ?? 'no answer'
  if (last instanceof Error) return plainCause(last)
  return /timed out|timeout|did not answer/i.test(error.message) ? 'no answer' : error.message
}
