import t from 'tap'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { isRefused } from '../../support/refusals.ts'

const both = 'keys: { from: [ X-API-Key, authorization ] }'

t.test('a key comes in any of the named headers, alone or after Bearer', async (t) => {
  const upstream = await startUpstream(t)
  const { call, key } = await startGateway(t, { upstream, more: both })
  const { token } = await key()
  const status = async (headers: Record<string, string>) =>
    (await call('GET', '/v1/pets', undefined, headers)).status
  t.equal(await status({ 'x-api-key': token }), 200)
  t.equal(await status({ 'X-Api-Key': `bearer ${token}` }), 200)
  t.equal(await status({ authorization: `Bearer ${token}` }), 200)
  t.equal(await status({ authorization: `Bearer ${token}`, 'x-api-key': token }), 200, 'the same')
  for (const { headers } of upstream.seen) {
    t.notHas(headers, { 'x-api-key': /./ })
    t.notHas(headers, { authorization: /./ }, 'backends see neither')
  }
  t.equal(await status({ x_api_key: token }), 401, 'another spelling is another header')
  t.equal((await call('GET', '/v1/quota', undefined, { 'x-api-key': token })).status, 200)
})

t.test('other spellings of a header with a key don’t reach backends either', async (t) => {
  const upstream = await startUpstream(t)
  const { call, key } = await startGateway(t, { upstream, more: both })
  const { token } = await key()
  const headers = { 'x-api-key': token, x_api_key: 'other', 'x-api-key2': 'passes' }
  await call('GET', '/v1/pets', undefined, headers)
  const [seen] = upstream.seen
  t.strictSame(
    Object.keys(seen?.headers ?? {}).filter((name) => /api/.test(name)),
    ['x-api-key2'],
  )
})

t.test('two headers with different keys are refused, and count against the address', async (t) => {
  const { call, key } = await startGateway(t, { more: both })
  const [{ token }, other] = [await key(), await key()]
  const headers = { 'x-api-key': token, authorization: `Bearer ${other.token}` }
  const refused = await call('GET', '/v1/pets', undefined, headers)
  isRefused(t, refused, 400, 'invalid_request')
  t.equal(
    json(refused)['message'],
    'Send one API key: those in X-Api-Key and Authorization differ.',
  )
  t.equal(refused.headers['x-ratelimit-remaining'], '59')
  const malformed = { 'x-api-key': token, authorization: 'Basic eDp5' }
  isRefused(t, await call('GET', '/v1/pets', undefined, malformed), 400, 'invalid_request')
})

t.test('refusals and preflights name the headers', async (t) => {
  const more = `${both}\ncors: { origins: [ "https://app.example" ] }`
  const { call } = await startGateway(t, { more })
  const missing = await call('GET', '/v1/pets')
  isRefused(t, missing, 401, 'missing_api_key')
  t.equal(json(missing)['message'], 'Send your API key: "X-Api-Key: <API_KEY>".')
  const wrong = await call('GET', '/v1/pets', undefined, { 'x-api-key': 'not a key' })
  t.equal(
    json(wrong)['message'],
    'Write your API key alone, in one header: "X-Api-Key: <API_KEY>".',
  )
  const asking = { origin: 'https://app.example', 'access-control-request-method': 'GET' }
  const usual = await call('OPTIONS', '/v1/pets', undefined, asking)
  t.match(usual.headers, {
    'access-control-allow-headers': 'X-Api-Key, Authorization, Content-Type',
  })
  const asked = { ...asking, 'access-control-request-headers': 'x-api-key' }
  const allowed = await call('OPTIONS', '/v1/pets', undefined, asked)
  t.match(allowed.headers, { 'access-control-allow-headers': 'x-api-key' })
})

t.test('pages and their document tell the first header', async (t) => {
  const openapi = `
keys: { from: [ X-API-Key ] }
portal: { openapi: config/openapi/animal-store.yaml }
tickets: on
`
  const { call, key } = await startGateway(t, { more: openapi })
  const terms = json(await call('GET', '/docs/terms.json'))
  t.match(terms, { keyHeader: { name: 'X-Api-Key', before: '' } })
  const document = json(await call('GET', '/docs/openapi.json'))
  t.match(document, {
    components: {
      securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } },
    },
  })
  const { token } = await key()
  const ticket = await call('POST', '/v1/ticket', {}, { 'x-api-key': token })
  t.match(ticket, { status: 201 })
  const bearer = { authorization: `Bearer ${token}` }
  isRefused(t, await call('GET', '/v1/pets', undefined, bearer), 401, 'missing_api_key')
})

t.test('an operation with extensions varies by each header of keys', async (t) => {
  const more = `${both}
deprecations:
  - { operation: GET /v1/pets, since: 2020-01-01, sunset: 2099-01-01, extensions: [ { account: acme, until: 2099-02-01 } ] }
`
  const { call, key } = await startGateway(t, { more })
  const { headers } = await key()
  const answer = await call('GET', '/v1/pets', undefined, headers)
  t.match(answer.headers, { vary: 'X-Api-Key, Authorization' })
})
