import type { Test } from 'tap'
import { start } from './admin-contract.ts'
import { json } from './http.ts'
import { bearer, jwtSection, signingKey, startKeyServer, tokenOf } from './jwt.ts'
import { until } from './until.ts'

/** Asks about callers with JWTs, their issuers and their tokens. */
export async function askIssuers(t: Test): Promise<void> {
  const key = signingKey('ES256')
  const server = await startKeyServer(t, [key, signingKey('RS256', 'weak', 1_024)])
  const { ask, gateway } = await start(t, {
    more: jwtSection(server.url, 'plan: free, account: tenant'),
  })
  const good = tokenOf(key, { claims: { tenant: 'acme' } })
  t.equal((await gateway.call('GET', '/v1/x', undefined, bearer(good))).status, 200)
  t.match(json(await ask('GET', '/admin/jwt')), [{ leftOut: [{ kid: 'weak' }] }])
  const found = json(await ask('GET', '/admin/keys?search=alice')) as unknown
  const [record] = found as { id: string }[]
  for (const path of ['/admin/jwt', '/admin/keys', `/admin/keys/${record?.id}`]) {
    for (const method of ['GET', 'HEAD']) t.equal((await ask(method, path)).status, 200)
  }
  const post = async (path: string, token: string) => json(await ask('POST', path, { token }))
  t.match(await post('/admin/keys/find', good), { token: 'jwt', works: true })
  t.match(await post('/admin/jwt/check', good), { reason: null, caller: { account: 'acme' } })
  const claims = (claims: object): string => tokenOf(key, { claims })
  const bad: Record<string, string> = {
    jwt_malformed: tokenOf(key, { claimsText: '[]' }),
    jwt_issuer: claims({ iss: 'other' }),
    jwt_signature: tokenOf({ ...key, privateKey: signingKey('ES256').privateKey }),
    jwt_audience: claims({ aud: 'other' }),
    jwt_expired: claims({ exp: 1 }),
    jwt_early: claims({ nbf: 4_000_000_000 }),
    jwt_claim: claims({ sub: '' }),
    jwt_keys: tokenOf(key, { header: { kid: 'unknown' } }),
  }
  for (const [reason, token] of Object.entries(bad)) {
    t.match(await post('/admin/jwt/check', token), { reason })
  }
  server.set.answer = (response) => response.writeHead(500).end()
  t.match(await post('/admin/jwt/check', good), { reason: 'jwt_keys', failure: 'it answered 500' })
  await gateway.call('GET', '/v1/x', undefined, bearer(bad['jwt_keys'] ?? ''))
  await until(async () => (await ask('GET', '/admin/jwt')).text.includes('it answered 500'))
}
