import { generateKeyPairSync } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { startAdmin } from '../../support/admin.ts'
import { json } from '../../support/http.ts'
import { bearer } from '../../support/jwt.ts'

// An OpenID provider that nobody here wrote: its keys, its key set and its tokens.

type Provider = Readonly<{ callback: () => RequestListener }>
// The package has no types.
const name: string = 'oidc-provider'
const { default: Provider } = (await import(name)) as {
  default: new (issuer: string, settings: object) => Provider
}

const api = 'https://api.example'
const client = { client_id: 'shop-worker', client_secret: 'a secret of the client' }

/** A provider with a key for each algorithm, whose access tokens are JWTs signed by one of them. */
async function startProvider(t: Test, algorithms: readonly string[]) {
  const asked = { alg: algorithms[0] ?? '', aud: api }
  const server = createServer((request, response) => callback(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      { ...client, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
    ],
    jwks: { keys: algorithms.map(jwkFor) },
    scopes: ['read:pets'],
    extraTokenClaims: () => ({ realm_access: { roles: ['staff', 'gold'] } }),
    ttl: { ClientCredentials: 600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: 'read:pets',
          audience: asked.aud,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: asked.alg } },
        }),
      },
    },
  })
  const callback = provider.callback()
  const token = async (): Promise<string> => {
    const { client_id, client_secret } = client
    const form = { grant_type: 'client_credentials', resource: api, scope: 'read:pets' }
    const answer = await fetch(`${issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...form, client_id, client_secret }),
    })
    const { access_token } = (await answer.json()) as { access_token?: string }
    return access_token ?? ''
  }
  const found = await fetch(`${issuer}/.well-known/openid-configuration`)
  const { jwks_uri: keys } = (await found.json()) as { jwks_uri: string }
  return { issuer, keys, asked, token }
}

function jwkFor(alg: string): object {
  const { privateKey } = /^Ed/.test(alg)
    ? generateKeyPairSync('ed25519')
    : alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2_048 })
  return { ...privateKey.export({ format: 'jwk' }), alg, kid: alg, use: 'sig' }
}

t.test('access tokens of a real provider get in, by each algorithm', async (t) => {
  const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
  const { issuer, keys, asked, token } = await startProvider(t, algorithms)
  const entry = { issuer, keys, algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'] }
  const plan = { claim: '/realm_access/roles', is: { gold: 'pro' }, else: 'free' }
  const jwt = [{ ...entry, audience: api, claims: { client_id: client.client_id }, plan }]
  const { gateway, ask } = await startAdmin(t, { more: stringify({ jwt }) })
  const call = async (token: string): Promise<number> =>
    (await gateway.call('GET', '/v1/x', undefined, bearer(token))).status
  for (const alg of algorithms) {
    asked.alg = alg
    const own = await token()
    t.equal(await call(own), 200, alg)
    t.match(json(await ask('POST', '/admin/jwt/check', { token: own })), {
      header: { alg, kid: alg },
      claims: { aud: api, scope: 'read:pets' },
      reason: null,
      caller: { subject: client.client_id, plan: 'pro' },
    })
  }
  t.equal(gateway.upstream.seen.at(-1)?.headers['x-caller-plan'], 'pro')
  asked.aud = 'https://other.example'
  t.equal(await call(await token()), 401, 'for another API')
  t.match(json(await ask('GET', '/admin/jwt')), [{ keys: 5, leftOut: [], failure: null }])
})
