import t, { type Test } from 'tap'
import { verifySignature } from '../../../gateway/index.ts'
import { startAdmin } from '../../support/admin.ts'
import { explanationOf } from '../../support/explained.ts'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { configFor } from '../../support/gateway.ts'
import { bearer, jwtSection, signingKey, startKeyServer, tokenOf } from '../../support/jwt.ts'

const key = signingKey('ES256')
const secret = 'a-secret-of-gateway-and-backend'

async function start(t: Test, forward: string) {
  const server = await startKeyServer(t, [key])
  const section = (forward: string): string =>
    jwtSection(server.url, `plan: free, forward: ${forward}`)
  const started = await startAdmin(t, { more: section(forward), secret })
  const { gateway } = started
  const send = (claims: object, more: object = {}) =>
    gateway.call('GET', '/v1/x', undefined, { ...bearer(tokenOf(key, { claims })), ...more })
  const got = async (claims: object, more?: object) => {
    const { status } = await send(claims, more)
    const { headers = {}, method = '', url: target = '' } = gateway.upstream.seen.at(-1) ?? {}
    return status === 200
      ? { headers, caller: verifySignature({ method, target, headers, secret }) }
      : status
  }
  return { ...started, section, send, got }
}

t.test('claims go on to the backend, signed', async (t) => {
  const { got } = await start(
    t,
    '{ X-Caller-Tenant: /org/id, x-caller-scope: scope, X-Caller-Beta: beta }',
  )
  const told = async (claims: object) => {
    const answer = await got(claims)
    if (typeof answer === 'number') return answer
    return [answer.headers['x-caller-tenant'], answer.caller?.claims]
  }
  const of = (id: unknown) => ({ org: { id } })
  const names = (claims: object) => claims
  for (const [value, sent, text = sent] of [
    ['acme', 'acme'],
    ['Ä 1%', '%C3%84%201%25', 'Ä 1%'],
    [' a', '%20a', ' a'],
    ['a\r\nX-Caller-Id: b', 'a%0D%0AX-Caller-Id%3A%20b', 'a\r\nX-Caller-Id: b'],
    [true, 'true'],
    [false, 'false'],
    [0, '0'],
    [-7, '-7'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [['a', 'b'], 'a b'],
    ['a'.repeat(1_024), 'a'.repeat(1_024)],
  ] as const) {
    t.strictSame(await told(of(value)), [sent, names({ 'x-caller-tenant': text })], String(value))
  }
  for (const value of [null, '', [], undefined]) {
    t.strictSame(await told(of(value)), [undefined, {}], String(value))
  }
  for (const value of [
    1.5,
    2 ** 53,
    { a: 1 },
    [1],
    [''],
    ['a b'],
    [['a']],
    '\ud800',
    ['\udc00'],
    'a'.repeat(1_025),
    'ä'.repeat(171),
  ]) {
    t.equal(await told(of(value)), 401, JSON.stringify(value).slice(0, 20))
  }
  const all = await got({ org: { id: 'acme' }, scope: 'a b', beta: true })
  t.match(all, {
    headers: { 'x-caller-tenant': 'acme', 'x-caller-scope': 'a b', 'x-caller-beta': 'true' },
    caller: {
      plan: 'free',
      claims: { 'x-caller-tenant': 'acme', 'x-caller-scope': 'a b', 'x-caller-beta': 'true' },
    },
  })
  const order = typeof all === 'object' ? String(all.headers['signature-input']) : ''
  t.match(order, /"x-caller-plan" "x-caller-beta" "x-caller-scope" "x-caller-tenant"\)/)
})

t.test(
  'a claim that can’t be told is a token that isn’t let in, and a caller’s own header never goes on',
  async (t) => {
    const { send, got, ask } = await start(t, '{ X-Caller-Tenant: tenant }')
    const answer = await send({ tenant: 1.5 })
    t.match(await explanationOf(ask, answer), { status: 401, reason: 'jwt_claim' })
    const forged = { 'X-Caller-Tenant': 'other', x_caller_tenant: 'other', Authorization2: 'x' }
    t.match(await got({ tenant: 'acme' }, forged), { headers: { 'x-caller-tenant': 'acme' } })
    const without = await got({}, forged)
    t.match(without, { headers: { 'x-caller-tenant': undefined }, caller: { claims: {} } })
  },
)

t.test(
  'a reload that changes what goes on holds with the next request of each token',
  async (t) => {
    const { got, section, gateway } = await start(t, '{ X-Caller-Tenant: tenant }')
    const change = async (forward: string) => {
      const text = configFor(gateway.upstream.url, `file: ${gateway.config.store.file}`, {
        more: section(forward),
      })
      await gateway.app.change(parseConfig(text, {}, 'test.yaml'))
    }
    const token = bearer(tokenOf(key, { claims: { tenant: 'a', org: 'b' } }))
    const heard = async () => {
      await gateway.call('GET', '/v1/x', undefined, token)
      const { headers } = gateway.upstream.seen.at(-1) ?? {}
      return [headers?.['x-caller-tenant'], headers?.['x-caller-org']]
    }
    t.strictSame(await heard(), ['a', undefined])
    await change('{ X-Caller-Tenant: org, X-Caller-Org: org }')
    t.strictSame(await heard(), ['b', 'b'])
    await change('{ X-Caller-Org: org }')
    t.strictSame(await heard(), [undefined, 'b'])
    t.equal(typeof (await got({ tenant: 'a' })), 'object')
  },
)
