import type { FastifyInstance } from 'fastify'
import { createHash, timingSafeEqual } from 'node:crypto'
import { Refusal } from '../../shared/refusal.ts'

/** Who may operate a gateway: tokens by the names of those who have them. */
export type AdminTokens = readonly Readonly<{ name: string; token: string }>[]

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose admin token a request has. */
    admin: string
  }
}

const challenge = 'Bearer realm="tollgate admin"'

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

/** Refuses whoever has none of the tokens, before anything else of a request is looked at. */
export function requireToken(app: FastifyInstance, tokens: AdminTokens): void {
  app.decorateRequest('admin', '')
  app.addHook('onRequest', (request, _reply, done) => {
    const { authorization } = request.headers
    const holder = holderOf(authorization, tokens)
    if (holder !== undefined) {
      request.admin = holder
      return done()
    }
    if (tokens.length === 0) return done(closed())
    done(authorization === undefined ? missing() : invalid())
  })
}

function closed(): Refusal {
  return new Refusal('forbidden', 'Nothing is told here: no ADMIN_TOKEN is set.')
}

function missing(): Refusal {
  return new Refusal('missing_api_key', 'Send the token: "Authorization: Bearer <ADMIN_TOKEN>".', {
    'www-authenticate': challenge,
    'cache-control': 'no-store',
  })
}

function invalid(): Refusal {
  return new Refusal('invalid_api_key', 'The token is none of those in ADMIN_TOKEN.', {
    'www-authenticate': `${challenge}, error="invalid_token"`,
    'cache-control': 'no-store',
  })
}

/** Of one length, so that comparing takes the same time whatever is compared. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
