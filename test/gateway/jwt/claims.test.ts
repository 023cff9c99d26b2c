import t, { type Test } from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { startGateway } from '../../support/gateway.ts'
import {
  audience,
  bearer,
  issuerName,
  jwtSection,
  signingKey,
  startKeyServer,
  tokenOf,
} from '../../support/jwt.ts'
import { logged, said } from '../../support/logs.ts'
import { until } from '../../support/until.ts'

const key = signingKey('ES256')
const claims = (claims: object): string => tokenOf(key, { claims })

/** A gateway with one issuer, and what its backend hears of the caller of a token; the status of a refusal. */
async function start(t: Test, settings: string, ofAudience = `"${audience}"`) {
  const server = await startKeyServer(t, [key])
  const { log, output } = logged()
  const gateway = await startGateway(t, {
    log,
    more: `jwt: [ { issuer: "${issuerName}", audience: ${ofAudience}, keys: "${server.url}", ${settings} } ]`,
  })
  const heard = async (token: string) => {
    const { status } = await gateway.call('GET', '/v1/x', undefined, bearer(token))
    return status === 200 ? gateway.upstream.seen.at(-1)?.headers['x-caller-plan'] : status
  }
  return { ...gateway, output, heard }
}

t.test('a plan comes from a claim within claims, or from a list of them', async (t) => {
  const { heard } = await start(
    t,
    'plan: { claim: /realm_access/roles, is: { gold: pro, basic: free }, else: enterprise }',
  )
  const roles = (roles: unknown): string => claims({ realm_access: { roles } })
  t.equal(await heard(roles('gold')), 'pro')
  t.equal(await heard(roles(['basic', 'other'])), 'free')
  t.equal(await heard(roles(['basic', 'gold'])), 'pro', 'the first line of the file counts')
  for (const other of [[], ['Gold'], [['gold']], { gold: 1 }, null, 7]) {
    t.equal(await heard(roles(other)), 403, `${JSON.stringify(other)}: the custom plan of else`)
  }
  for (const without of [{}, { realm_access: 'gold' }, { '/realm_access/roles': 'gold' }]) {
    t.equal(await heard(claims(without)), 403)
  }
})

t.test(
  'a name is a name, with slashes and dots; only what begins with / is a pointer',
  async (t) => {
    const names = ['https://acme.example/plan', 'realm_access.roles', 'cognito:groups']
    for (const name of names) {
      const { heard } = await start(t, `plan: { claim: "${name}", is: { gold: pro }, else: free }`)
      t.equal(await heard(claims({ [name]: ['gold'] })), 'pro', name)
      t.equal(await heard(claims({ realm_access: { roles: ['gold'] } })), 'free')
    }
  },
)

t.test('subject, name and account come from claims within claims, too', async (t) => {
  const { heard, desk, upstream } = await start(
    t,
    'plan: free, subject: /user/id, name: /user/name, account: { claim: /org/0/id, prefix: "o:" }',
  )
  const user = { id: 'u1', name: 'Alice' }
  t.equal(await heard(claims({ user, org: [{ id: 'acme' }] })), 'free')
  const id = String(upstream.seen.at(-1)?.headers['x-caller-id'])
  t.match(await desk.show(id), { name: 'Alice', subject: 'u1', account: 'o:acme' })
  t.equal(await heard(claims({ user: { name: 'Alice' } })), 401, 'no subject')
  t.equal(await heard(claims({ user, org: [{ id: 7 }] })), 401, 'an account that is no text')
  t.equal(await heard(claims({ user, org: [] })), 'free', 'no account')
})

t.test('without an audience, each required claim must be one of its texts', async (t) => {
  const settings = 'plan: free, claims: { client_id: [ shop, app ], /org/region: eu }'
  const { heard, output } = await start(t, settings, 'none')
  const region = { org: { region: 'eu' } }
  for (const aud of [undefined, 'https://other.example', ['a', 'b'], 7]) {
    t.equal(await heard(claims({ aud, ...region, client_id: 'shop' })), 'free', String(aud))
    t.equal(await heard(claims({ aud, ...region, client_id: 'app' })), 'free')
  }
  const wrong: object[] = [
    ...['other', 'sho', 'Shop', '', null, 7, ['shop'], { shop: 1 }].map((id) => ({
      ...region,
      client_id: id,
    })),
    { client_id: 'shop', org: { region: 'us' } },
    { client_id: 'shop', '/org/region': 'eu' },
    { client_id: 'shop' },
    region,
    {},
  ]
  for (const each of wrong) {
    t.equal(await heard(claims({ aud: undefined, ...each })), 401, JSON.stringify(each))
  }
  await until(() => said(output(), '"jwt_audience"').length === wrong.length)
})

t.test('beside an audience, both are needed', async (t) => {
  const { heard } = await start(t, 'plan: free, claims: { azp: shop }')
  t.equal(await heard(claims({ azp: 'shop' })), 'free')
  t.equal(await heard(claims({ azp: 'other' })), 401)
  t.equal(await heard(claims({ azp: 'shop', aud: 'other' })), 401)
})

t.test('each token that is let in counts once: by its claim, or by else', async (t) => {
  const server = await startKeyServer(t, [key])
  const plan = 'plan: { claim: plan, is: { gold: pro }, else: free }'
  const others = `{ issuer: all, audience: a, keys: "${server.url}", plan: free }`
  const { gateway, ask } = await startAdmin(t, {
    more: jwtSection(server.url, plan).replace(/\]$/, `, ${others} ]`),
  })
  const statusOf = async (token: string): Promise<number> =>
    (await gateway.call('GET', '/v1/x', undefined, bearer(token))).status
  const counted = async (): Promise<string[]> => {
    const { text } = await ask('GET', '/metrics')
    return text.split('\n').filter((line) => line.startsWith('tollgate_jwt_plans_total{'))
  }
  const line = (by: string, count: number): string =>
    `tollgate_jwt_plans_total{issuer="${issuerName}",by="${by}"} ${count}`
  t.strictSame(await counted(), [line('claim', 0), line('else', 0)])
  const [gold, silver, none] = [claims({ plan: 'gold' }), claims({ plan: 'silver' }), claims({})]
  for (const token of [gold, gold, silver, none, none, none]) t.equal(await statusOf(token), 200)
  t.equal(await statusOf(claims({ iss: 'all', aud: 'a' })), 200, 'one plan for all')
  t.equal(await statusOf(claims({ plan: 'gold', exp: 1 })), 401)
  await ask('POST', '/admin/jwt/check', { token: claims({ plan: 'gold', jti: 1 }) })
  t.strictSame(await counted(), [line('claim', 1), line('else', 2)])
})
