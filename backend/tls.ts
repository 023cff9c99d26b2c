import type { Log } from '../shared/log.ts'
import { FollowedTls } from '../shared/tls/followed.ts'

/** The variables of the environment that name files. */
const names = { cert: 'TLS_CERT', key: 'TLS_KEY', ca: 'TLS_CLIENT_CA' } as const

/** The certificate that the environment names; `undefined` without one. Throws a sentence if it can't be used. */
export function tlsFrom(
  environment: Readonly<Record<string, string | undefined>>,
  log: () => Log,
): FollowedTls | undefined {
  const [cert, key, ca] = [names.cert, names.key, names.ca].map((name) => environment[name] ?? '')
  if (!cert && !key && !ca) return undefined
  if (!cert || !key) {
    throw new Error('TLS_CERT and TLS_KEY belong together: set both to files, or none of TLS_*')
  }
  return new FollowedTls({
    files: { cert, key, ca: ca || undefined },
    names,
    changed: () => log().info({}, 'changed certificates are in use for new connections'),
    refused: (err) =>
      log().error({ err }, 'changed certificates can’t be used; those before stay in use'),
  })
}
