import { createHash, timingSafeEqual } from 'node:crypto'

/** Who may operate a gateway: tokens by the names of those who have them. */
export type AdminTokens = readonly Readonly<{ name: string; token: string }>[]

/** The tokens of an ADMIN_TOKEN: one, or several between commas, each with a name before a colon. */
export function adminTokensFrom(setting = ''): AdminTokens {
  return setting
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .map((each) => {
      const [, name, token = each] = /^([^:]+):(.+)$/.exec(each) ?? []
      return { name: name ?? 'admin', token }
    })
}

/** Whose token an `Authorization` header has; how long that takes tells nothing of any of them. */
export function holderOf(header: string | undefined, tokens: AdminTokens): string | undefined {
  const [, given = ''] = /^Bearer (\S+)$/i.exec(header ?? '') ?? []
  const proof = digest(given)
  const [holder] = tokens.filter(({ token }) => timingSafeEqual(proof, digest(token)))
  return holder?.name
}

/** Of one length, so that comparing takes the same time whatever is compared. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
