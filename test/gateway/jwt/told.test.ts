import t from 'tap'
import { jwtReasons } from '../../../gateway/front/jwt/issuer.ts'
import { startAdmin } from '../../support/admin.ts'
import { explanationOf } from '../../support/explained.ts'
import {
  bearer,
  jwtSection,
  signingKey,
  startKeyServer,
  tokenOf,
  usualClaims,
} from '../../support/jwt.ts'
import { logged } from '../../support/logs.ts'
import { until } from '../../support/until.ts'

const key = signingKey('ES256')
const claims = (claims: object): string => tokenOf(key, { claims })

t.test('explain and metrics tell each reason; no path shows a token', async (t) => {
  const server = await startKeyServer(t, [key])
  const { log, output } = logged()
  const { gateway, ask } = await startAdmin(t, {
    log,
    more: jwtSection(server.url, 'plan: free, account: tenant, maxCallers: 1'),
  })
  const call = (token: string) => gateway.call('GET', `/v1/x/${token}`, undefined, bearer(token))
  const good = tokenOf(key)
  t.equal((await call(good)).status, 200)
  for (let tenant = 1; tenant <= 100; tenant++) {
    t.equal((await call(claims({ tenant: `t${tenant}` }))).status, 200)
  }
  const tokens: Record<(typeof jwtReasons)[number], string> = {
    jwt_malformed: tokenOf(key, { claimsText: '[]' }),
    jwt_issuer: claims({ iss: 'https://other.example' }),
    jwt_signature: tokenOf({ ...key, privateKey: signingKey('ES256').privateKey }),
    jwt_audience: claims({ aud: 'other' }),
    jwt_expired: claims({ exp: 1 }),
    jwt_early: claims({ nbf: Number(usualClaims()['exp']) }),
    jwt_claim: claims({ sub: '' }),
    jwt_keys: tokenOf(key, { header: { kid: 'unknown' } }),
    jwt_callers: claims({ sub: 'one too many' }),
    jwt_accounts: claims({ tenant: 'one too many' }),
  }
  const metrics = async (): Promise<string> => (await ask('GET', '/metrics')).text
  t.match(await metrics(), 'tollgate_jwt_refusals_total{reason="jwt_early"} 0\n')
  for (const reason of jwtReasons) {
    const found = await explanationOf(ask, await call(tokens[reason]))
    t.match(found, { reason, status: /callers|accounts/.test(reason) ? 503 : 401, name: null })
    t.match(found.sentence, /JWT|maxCallers|accounts/)
    t.notMatch(found.path, tokens[reason].split('.')[1] ?? '')
    t.match(await metrics(), `tollgate_jwt_refusals_total{reason="${reason}"} 1\n`)
  }
  await until(() => output().split('"/v1/x/eyJ…"').length > jwtReasons.length + 101)
  for (const token of [good, ...Object.values(tokens)]) {
    t.notMatch(output(), token.split('.')[1] ?? token)
  }
})
