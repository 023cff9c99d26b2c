import t from 'tap'
import { algorithms } from '../../../gateway/front/jwt/settings.ts'
import { startGateway } from '../../support/gateway.ts'
import {
  bearer,
  jwtSection,
  part,
  signatureOf,
  signingKey,
  startKeyServer,
  tokenByPublicKey,
  tokenOf,
  usualClaims,
  type Given,
} from '../../support/jwt.ts'
import { logged, said } from '../../support/logs.ts'
import { until } from '../../support/until.ts'

const keys = algorithms.map((alg) => signingKey(alg))
const [rsa] = keys
const es256 = keys.find(({ alg }) => alg === 'ES256')
if (!rsa || !es256) throw new Error('these two are in the list')

/** The time of the gateways, which stands still. */
const now = Math.floor(Date.now() / 1_000)
const clock = (): number => now * 1_000

t.test('a token of each algorithm is let in, and knows the way to its backend', async (t) => {
  const server = await startKeyServer(t, keys)
  const all = `plan: free, algorithms: [ ${algorithms.join(', ')} ]`
  const { call, upstream } = await startGateway(t, { more: jwtSection(server.url, all) })
  for (const key of keys) {
    const { status } = await call('GET', '/v1/x', undefined, bearer(tokenOf(key)))
    t.equal(status, 200, key.alg)
  }
  t.equal(server.asked(), 1, 'all by keys that were fetched at the start')
  for (const { headers } of upstream.seen) {
    t.notOk(headers.authorization, 'the backend never sees a token')
    t.match(headers['x-caller-id'], /^[0-9A-Za-z]{12}$/)
    t.equal(headers['x-caller-plan'], 'free')
  }
  t.equal(new Set(upstream.seen.map(({ headers }) => headers['x-caller-id'])).size, 1)
})

t.test('EdDSA and Ed25519 are one algorithm: in the file, in tokens and in keys', async (t) => {
  const names = ['EdDSA', 'Ed25519']
  const signers = [...names, undefined].map((alg) => {
    const key = signingKey('Ed25519', `a key for ${alg}`)
    return { ...key, jwk: { ...key.jwk, alg } }
  })
  const server = await startKeyServer(t, signers)
  for (const allowed of names) {
    const more = jwtSection(server.url, `plan: free, algorithms: [ ${allowed} ]`)
    const { call } = await startGateway(t, { more })
    for (const signer of signers) {
      for (const alg of names) {
        const { status } = await call(
          'GET',
          '/v1/x',
          undefined,
          bearer(tokenOf({ ...signer, alg })),
        )
        t.equal(status, 200, `${allowed} in the file, ${alg} in the token, ${signer.kid}`)
      }
    }
  }
  const { call } = await startGateway(t, {
    more: jwtSection(server.url, 'plan: free, algorithms: [ ES256 ]'),
  })
  for (const signer of signers) {
    t.equal((await call('GET', '/v1/x', undefined, bearer(tokenOf(signer)))).status, 401)
  }
})

type Fault = readonly [reason: string, what: string, token: string]

const made = (given: Given): string => tokenOf(es256, given)
const claims = (claims: object): string => made({ claims })
const signed = (head: string, body: string): string =>
  `${part(head)}.${part(body)}.${signatureOf(`${part(head)}.${part(body)}`, es256)}`
const other = signingKey('ES256')
const good = tokenOf(es256)
const [goodHead = '', goodBody = '', goodSignature = ''] = good.split('.')
const usual = JSON.stringify(usualClaims())
const head = JSON.stringify({ alg: 'ES256', kid: es256.kid })
const pem = es256.jwk
const longHead = part({ alg: 'ES256', kid: es256.kid, x: 'x'.repeat(3_000) })

const faults: readonly Fault[] = [
  ['jwt_malformed', 'claims that are no JSON', signed(head, 'nothing')],
  ['jwt_malformed', 'claims that are a list', signed(head, '[]')],
  ['jwt_malformed', 'no claims at all', `${goodHead}..${goodSignature}`],
  ['jwt_malformed', 'a claim that comes twice', signed(head, `{"sub":"bob",${usual.slice(1)}`)],
  [
    'jwt_malformed',
    'one that is spelled in another way',
    signed(head, `{"\\u0073ub":"bob",${usual.slice(1)}`),
  ],
  [
    'jwt_malformed',
    'a member within a claim that comes twice',
    signed(head, `{"a":[{"b":1},{"b":1,"b":2}],${usual.slice(1)}`),
  ],
  [
    'jwt_malformed',
    'a member of the header that comes twice',
    signed(`{"alg":"none",${head.slice(1)}`, usual),
  ],
  ['jwt_malformed', 'a header that must be understood', made({ header: { crit: ['x'], x: 1 } })],
  ['jwt_malformed', 'an id that is a number', made({ header: { kid: 1 } })],
  [
    'jwt_malformed',
    'bytes that are no text',
    `${goodHead}.${Buffer.from('{"sub":"\xff"}', 'latin1').toString('base64url')}.x`,
  ],
  ['jwt_issuer', 'another issuer', claims({ iss: 'https://other.example/' })],
  ['jwt_issuer', 'an issuer that ends otherwise', claims({ iss: 'https://login.example' })],
  ['jwt_issuer', 'no issuer', claims({ iss: undefined })],
  ['jwt_issuer', 'an issuer that is a list', claims({ iss: ['https://login.example/'] })],
  ['jwt_signature', 'no algorithm', `${part({ alg: 'none' })}.${goodBody}.`],
  [
    'jwt_signature',
    'no algorithm, spelled otherwise',
    `${part({ alg: 'nOnE', kid: es256.kid })}.${goodBody}.`,
  ],
  [
    'jwt_signature',
    'an HMAC by the public key',
    tokenByPublicKey(JSON.stringify(pem), { kid: es256.kid }),
  ],
  ['jwt_signature', 'an algorithm that isn’t listed', tokenOf(signingKey('ES384', es256.kid))],
  ['jwt_signature', 'the key of somebody else', tokenOf({ ...other, kid: es256.kid })],
  [
    'jwt_signature',
    'a key in the header',
    tokenOf(other, { header: { kid: es256.kid, jwk: other.jwk } }),
  ],
  [
    'jwt_signature',
    'an address of keys in the header',
    tokenOf(other, { header: { kid: es256.kid, jku: 'http://127.0.0.1:1/' } }),
  ],
  [
    'jwt_signature',
    'other claims than were signed',
    `${goodHead}.${part({ ...usualClaims(), sub: 'eve' })}.${goodSignature}`,
  ],
  ['jwt_signature', 'no signature', `${goodHead}.${goodBody}.`],
  ['jwt_signature', 'half a signature', `${goodHead}.${goodBody}.${goodSignature.slice(0, 43)}`],
  ['jwt_signature', 'another head than was signed', `${longHead}.${goodBody}.${goodSignature}`],
  ['jwt_keys', 'an unknown id', made({ header: { kid: 'unknown' } })],
  ['jwt_keys', 'an id that is a path', made({ header: { kid: '../../etc/passwd' } })],
  ['jwt_keys', 'an id that is an URL', made({ header: { kid: 'https://evil.example/jwks.json' } })],
  ['jwt_keys', 'the id of a key of another kind', tokenOf(es256, { header: { kid: rsa.kid } })],
  ['jwt_audience', 'another audience', claims({ aud: 'https://other.example' })],
  ['jwt_audience', 'no audience', claims({ aud: undefined })],
  ['jwt_audience', 'a list without it', claims({ aud: ['a', 'b'] })],
  ['jwt_expired', 'an end 60 s ago', claims({ exp: now - 60 })],
  ['jwt_early', 'a beginning in 61 s', claims({ nbf: now + 61 })],
  ['jwt_claim', 'no end', claims({ exp: undefined })],
  ['jwt_claim', 'an end that is a text', claims({ exp: String(now + 60) })],
  ['jwt_claim', 'a beginning that is a text', claims({ nbf: 'now' })],
  ['jwt_claim', 'no subject', claims({ sub: undefined })],
  ['jwt_claim', 'a subject that is a number', claims({ sub: 7 })],
  ['jwt_claim', 'an empty subject', claims({ sub: '' })],
  ['jwt_claim', 'a subject that is too long', claims({ sub: 'x'.repeat(256) })],
  ['jwt_claim', 'a subject with a control character', claims({ sub: 'a\nb' })],
  ['jwt_claim', 'a subject with half a character', signed(head, usual.replace('alice', '\\ud800'))],
]

t.test(
  'each fault is the one 401 of an unknown key, byte for byte; operators are told which it is',
  async (t) => {
    const server = await startKeyServer(t, keys)
    const { log, output } = logged()
    const { call, upstream } = await startGateway(t, {
      ...{ clock, log },
      more: `${jwtSection(server.url)}\nstrangers: { perMinute: unlimited, perDay: unlimited }`,
    })
    const unknown = await call('GET', '/v1/x', undefined, bearer('of-another-system'))
    t.equal(unknown.status, 401)
    const comparable = ({ status, headers, text }: typeof unknown) => {
      const others = { ...headers, date: '', 'x-request-id': '' }
      return { status, text, headers: others }
    }
    for (const [i, [reason, what, token]] of faults.entries()) {
      const answer = await call('GET', `/v1/fault-${i}-`, undefined, bearer(token))
      t.strictSame(comparable(answer), comparable(unknown), what)
      const lines = (): object[] => said(output(), `/v1/fault-${i}-"`)
      await until(() => lines().length > 0)
      t.match(lines().at(-1), { reason, status: 401 }, what)
    }
    t.equal(upstream.seen.length, 0)
    t.notMatch(output(), new RegExp(goodSignature), 'no token is in the log')
    t.equal((await call('GET', '/v1/x', undefined, bearer(good))).status, 200)
  },
)

t.test('what is right at the edges is let in', async (t) => {
  const server = await startKeyServer(t, [es256, signingKey('RS256')])
  const { call } = await startGateway(t, { clock, more: jwtSection(server.url) })
  const right: Record<string, string> = {
    'an end 59 s ago': claims({ exp: now - 59 }),
    'a beginning in 60 s': claims({ nbf: now + 60 }),
    'one audience of several': claims({ aud: ['a', 'https://api.example'] }),
    'a subject of 255 characters': claims({ sub: 'x'.repeat(255) }),
    'no id, and one key that fits': made({ header: { kid: undefined } }),
    'names that come again in other objects': signed(
      head,
      `{"a":[{"sub":1},{"sub":"sub"}],"b":{"sub":"\\"sub\\":1"},${usual.slice(1)}`,
    ),
    'an end with a fraction': claims({ exp: now + 10.5 }),
    '8,192 characters': (() => {
      const length = made({ claims: { more: '' } }).length
      return made({ claims: { more: 'x'.repeat(Math.floor(((8_190 - length) * 3) / 4)) } })
    })(),
  }
  for (const [what, token] of Object.entries(right)) {
    t.equal(
      (await call('GET', '/v1/x', undefined, bearer(token))).status,
      200,
      `${what}, ${token.length} characters`,
    )
  }
  const long = made({ claims: { more: 'x'.repeat(6_200) } })
  t.ok(long.length > 8_192)
  t.equal((await call('GET', '/v1/x', undefined, bearer(long))).status, 401)
})
