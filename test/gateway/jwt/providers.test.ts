import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { startAdmin } from '../../support/admin.ts'
import { json } from '../../support/http.ts'
import { bearer, signingKey, startKeyServer, tokenOf } from '../../support/jwt.ts'
import { root } from '../../support/process.ts'

// The entries of config/jwt.md, with tokens of the form that each provider documents.

type Entry = Readonly<{ issuer: string; keys: string }>

const page = readFileSync(join(root, 'config/jwt.md'), 'utf8')
const entries = [
  ...page.slice(page.indexOf('## Providers')).matchAll(/^```yaml\n(.*?)^```/gms),
].map(([, yaml = '']) => (parse(yaml) as { jwt: readonly [Entry] }).jwt[0])

const keycloak = {
  jti: 'd58f5dc8-fd8f-462b-8a19-716f8f83985b',
  aud: ['tollgate', 'account'],
  sub: '36fa0f91-f94d-4a0c-afed-6b7d952e47da',
  typ: 'Bearer',
  azp: 'shop-web',
  sid: '2a88c258-f73a-4103-b862-e1fbd8f4e04e',
  acr: '1',
  'allowed-origins': ['https://shop.example'],
  realm_access: { roles: ['offline_access', 'default-roles-shop', 'gold'] },
  resource_access: { account: { roles: ['manage-account', 'view-profile'] } },
  scope: 'openid email profile',
  email_verified: true,
  preferred_username: 'alice',
}
const cognito = {
  aud: undefined,
  sub: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
  device_key: 'eu-central-1_aaaaaaaa',
  'cognito:groups': ['staff', 'gold'],
  version: 2,
  client_id: '5h1a7example',
  origin_jti: 'bbbbbbbb',
  event_id: 'cccccccc',
  token_use: 'access',
  scope: 'openid phone',
  auth_time: 1_676_313_851,
  jti: 'dddddddd',
  username: 'alice',
}
const clerk = {
  aud: undefined,
  azp: 'https://shop.example',
  fva: [7, -1],
  sid: 'sess_123',
  sub: 'user_123',
  v: 2,
  pla: 'o:gold',
  fea: 'o:dashboard',
  o: { id: 'org_123', slg: 'acme', rol: 'admin', per: 'read,manage', fpm: '3' },
}
const auth0 = {
  sub: 'auth0|123456',
  aud: ['https://api.example', 'https://shop.eu.auth0.com/userinfo'],
  azp: 'my_client_id',
  scope: 'openid profile read:pets',
  permissions: ['read:pets'],
  org_id: 'org_9ybsU1dN2dKfDkBi',
  'https://api.example/plan': 'gold',
}
const entra = {
  aud: '11111111-1111-1111-1111-111111111111',
  azp: '22222222-2222-2222-2222-222222222222',
  azpacr: '1',
  oid: '33333333-3333-3333-3333-333333333333',
  sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
  tid: '44444444-4444-4444-4444-444444444444',
  scp: 'access_as_user',
  ver: '2.0',
}

type Case = readonly [claims: object, expected: object | string]

/** By a part of the issuer's name: tokens, with whose they are, or why they are refused. */
const cases: Readonly<Record<string, readonly Case[]>> = {
  keycloak: [
    [keycloak, { name: 'alice', subject: keycloak.sub, plan: 'pro', account: null }],
    [{ ...keycloak, realm_access: undefined }, { plan: 'free' }],
    [{ ...keycloak, aud: 'account' }, 'jwt_audience'],
  ],
  cognito: [
    [cognito, { name: 'alice', subject: cognito.sub, plan: 'pro' }],
    [{ ...cognito, 'cognito:groups': undefined, client_id: '7k2bexample' }, { plan: 'free' }],
    [{ ...cognito, client_id: 'other' }, 'jwt_audience'],
    [{ ...cognito, aud: '5h1a7example', token_use: 'id', client_id: undefined }, 'jwt_audience'],
  ],
  clerk: [
    [clerk, { subject: 'user_123', plan: 'pro', account: 'https://clerk.shop.example#org_123' }],
    [
      { ...clerk, o: undefined, pla: 'u:free' },
      { plan: 'free', account: null },
    ],
    [{ ...clerk, azp: 'https://other.example' }, 'jwt_audience'],
    [{ ...clerk, azp: undefined }, 'jwt_audience'],
  ],
  auth0: [
    [auth0, { plan: 'pro', account: 'https://shop.eu.auth0.com/#org_9ybsU1dN2dKfDkBi' }],
    [
      { ...auth0, sub: 'my_client_id@clients', gty: 'client-credentials', org_id: undefined },
      { subject: 'my_client_id@clients', account: null },
    ],
    [{ ...auth0, aud: 'https://shop.eu.auth0.com/userinfo' }, 'jwt_audience'],
  ],
  microsoft: [[entra, { subject: entra.oid, plan: 'free' }]],
}

const key = signingKey('RS256')
const server = await startKeyServer(t, [key])

t.test('tokens of the documented form get in by the entry of their provider', async (t) => {
  t.equal(entries.length, Object.keys(cases).length)
  const jwt = entries.map((entry) => ({ ...entry, keys: server.url }))
  const { gateway, ask } = await startAdmin(t, { more: stringify({ jwt }) })
  for (const [provider, ofProvider] of Object.entries(cases)) {
    const { issuer } = entries.find(({ issuer }) => issuer.includes(provider)) ?? {}
    for (const [claims, expected] of ofProvider) {
      const token = tokenOf(key, { claims: { ...claims, iss: issuer } })
      const { status } = await gateway.call('GET', '/v1/x', undefined, bearer(token))
      const judged = json(await ask('POST', '/admin/jwt/check', { token }))
      const isRefused = typeof expected === 'string'
      t.equal(status, isRefused ? 401 : 200, provider)
      t.match(
        judged,
        isRefused ? { reason: expected } : { reason: null, caller: expected },
        provider,
      )
    }
  }
})

t.test('Keycloak without an audience mapper: the clients that may call', async (t) => {
  const [{ issuer, ...others } = { issuer: '' }] = entries
  const jwt = [
    { ...others, issuer, keys: server.url, audience: 'none', claims: { azp: ['shop-web'] } },
  ]
  const { gateway } = await startAdmin(t, { more: stringify({ jwt }) })
  for (const [azp, expected] of Object.entries({ 'shop-web': 200, other: 401 })) {
    const token = tokenOf(key, { claims: { ...keycloak, iss: issuer, aud: 'account', azp } })
    const { status } = await gateway.call('GET', '/v1/x', undefined, bearer(token))
    t.equal(status, expected, azp)
  }
})
