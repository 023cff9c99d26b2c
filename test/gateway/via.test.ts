import t from 'tap'
import { parseConfig } from '../../gateway/office/config/load.ts'
import { tollgate } from '../../gateway/plugin.ts'
import { startForCaller } from '../support/first-caller.ts'
import { configFor, startUpstream } from '../support/gateway.ts'
import { answerFrom, json, raw } from '../support/http.ts'
import { startApp } from '../support/plugin.ts'

t.test('RFC 9110, 7.6.3: Via names the gateway to the backend and to the caller', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    if (request.url?.endsWith('/old')) response.setHeader('via', ['1.0 cache', '1.1 store'])
    response.end('{}')
  })
  const { ask, get, url, token, call } = await startForCaller(t, { upstream })
  t.equal((await get('/v1/pets')).headers['via'], '1.1 tollgate')
  const passed = answerFrom(await ask('GET /v1/old', 'Via: 1.0 phone\r\nVia: 1.1 edge\r\n'))
  t.equal(passed.headers['via'], '1.0 cache, 1.1 store, 1.1 tollgate', 'behind those before it')
  await raw(url, `GET /v1/pets HTTP/1.0\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  t.strictSame(
    upstream.seen.map(({ headers }) => headers.via),
    ['1.1 tollgate', '1.0 phone, 1.1 edge, 1.1 tollgate', '1.0 tollgate'],
    'with the version in which the request came',
  )
  t.equal((await call('GET', '/v1/pets')).headers['via'], undefined, 'a refusal is its own answer')
  t.equal((await get('/v1/quota')).headers['via'], undefined)
})

t.test('RFC 9110, 7.6.3: a request that comes by for the third time is a loop', async (t) => {
  const more = 'strangers: { perMinute: 9, perDay: 1000 }'
  const { ask, upstream, dayLeft } = await startForCaller(t, { more })
  const asked = async (via: string) => answerFrom(await ask('GET /v1/pets', `Via: ${via}\r\n`))
  const left = await dayLeft()
  const passed = [
    '1.1 tollgate',
    '1.1 edge, 1.1 tollgate, 1.1 cache',
    '1.1 tollgate, 1.1 tollgate-2, 1.1 my-tollgate, HTTP/1.1 tollgate:8080',
    '1.1 edge (1.1 tollgate, 1.1 tollgate), 1.1 tollgate',
    'tollgate, tollgate, , tollgate',
  ]
  for (const via of passed) t.equal((await asked(via)).status, 200, via)
  t.equal(await dayLeft(), Number(left) - passed.length)
  const looped = ['1.1 tollgate, 1.1 tollgate', 'HTTP/1.1 Tollgate (x), 1.0 edge,1.1\ttollgate']
  for (const via of [...looped, '1.1 tollgate\r\nVia: 1.1 tollgate']) {
    const answer = await asked(via)
    t.match(answer, { status: 508, headers: { 'x-ratelimit-limit': '9' } }, via)
    t.match(json(answer), { code: 'loop_detected', status: 508, message: /in a circle/ })
  }
  t.equal((await asked(looped[0] ?? '')).headers['x-ratelimit-remaining'], '5', 'by address')
  t.equal(await dayLeft(), Number(left) - passed.length, 'and the key has paid nothing')
  t.equal(upstream.seen.length, passed.length)
})

t.test('via has another name, or none, from the next reload on', async (t) => {
  const { app, config, get, ask, upstream } = await startForCaller(t, {
    more: 'via: edge.example:80',
  })
  const seen = () => upstream.seen.at(-1)?.headers.via
  t.equal((await get('/v1/pets')).headers['via'], '1.1 edge.example:80')
  t.equal(seen(), '1.1 edge.example:80')
  const twice = 'Via: 1.1 Edge.Example:80, 1.1 edge.example:80\r\n'
  t.match(await ask('GET /v1/pets', twice), /^HTTP\/1\.1 508/)
  const text = configFor(upstream.url, 'file: x.db', { more: 'via: off' })
  const { via } = parseConfig(text, {}, 'x')
  await app.change({ ...config, via })
  t.equal((await get('/v1/pets')).headers['via'], undefined)
  t.equal(seen(), undefined)
  const loop = await ask('GET /v1/pets', twice)
  t.match(loop, /^HTTP\/1\.1 200/)
  t.match(loop, /^(?!.*^via:)/ims)
  t.match(seen(), /^1\.1 Edge\.Example:80, 1\.1 edge\.example:80$/)
})

t.test('the plugin names itself too, on what it forwards', async (t) => {
  const { app, headers, upstream } = await startApp(t, async (app, options) => {
    await app.register(tollgate, options)
    app.get('/mine', { config: { tollgate: true } }, () => 'mine')
  })
  const ask = (url: string, via?: string) =>
    app.inject({ url, headers: { ...headers, ...(via === undefined ? {} : { via }) } })
  t.equal((await ask('/v1/pets')).headers['via'], '1.1 tollgate')
  t.equal(upstream.seen.at(-1)?.headers.via, '1.1 tollgate')
  t.equal((await ask('/mine')).headers['via'], undefined)
  t.equal((await ask('/mine', '1.1 tollgate, 1.1 tollgate')).statusCode, 508)
})
