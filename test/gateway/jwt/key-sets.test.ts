import { generateKeyPairSync } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { configFor, startGateway, type GatewayOptions } from '../../support/gateway.ts'
import {
  bearer,
  jwtSection,
  signingKey,
  startKeyServer,
  tokenOf,
  usualClaims,
  type SigningKey,
} from '../../support/jwt.ts'
import { logged, said } from '../../support/logs.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const first = signingKey('ES256', 'first')
const second = signingKey('ES256', 'second')

async function start(t: Test, keys: readonly SigningKey[], options: Partial<GatewayOptions> = {}) {
  const server = await startKeyServer(t, keys)
  const time = { ms: Date.now() }
  const { log, output } = logged()
  const gateway = await startGateway(t, {
    ...{ log, clock: () => time.ms, more: jwtSection(server.url) },
    ...options,
  })
  const statusOf = async (token: string): Promise<number> =>
    (await gateway.call('GET', '/v1/x', undefined, bearer(token))).status
  const reasons = (): unknown[] => said(output(), '"reason"').map(({ reason }) => reason)
  const keysOf = () => gateway.app.front.issuers.states[0]
  return { ...gateway, server, time, output, statusOf, reasons, keysOf }
}

const invented = (kid: string): string => tokenOf(first, { header: { kid } })

t.test('a new key is fetched for the first token that names it, after invented ones', async (t) => {
  const { server, statusOf } = await start(t, [first])
  t.equal(await statusOf(tokenOf(first)), 200)
  for (const kid of ['a', 'b', 'c', 'd']) t.equal(await statusOf(invented(kid)), 401)
  t.equal(server.asked(), 5)
  server.set.keys = [first.jwk, second.jwk]
  const answers = await Promise.all(
    [1, 2, 3].map((jti) => statusOf(tokenOf(second, { claims: { jti } }))),
  )
  t.strictSame(answers, [200, 200, 200])
  t.equal(server.asked(), 6, 'all wait for one fetch')
})

t.test('unknown ids have a set fetched five times at once, and once more every 10 s', async (t) => {
  const { server, time, statusOf } = await start(t, [first])
  for (const kid of 'abcdefg') t.equal(await statusOf(invented(kid)), 401)
  t.equal(server.asked(), 6)
  server.set.keys = [first.jwk, second.jwk]
  time.ms += 9_999
  t.equal(await statusOf(tokenOf(second)), 401)
  t.equal(server.asked(), 6, 'nothing is fetched before')
  time.ms += 1
  t.equal(await statusOf(tokenOf(second)), 200)
  t.equal(await statusOf(invented('h')), 401)
  t.equal(server.asked(), 7)
  time.ms += 3_600_000
  for (const kid of 'abcdefg') t.equal(await statusOf(invented(kid)), 401)
  t.equal(server.asked(), 12, 'no more than five are saved up')
  time.ms -= 3_600_000
  t.equal(await statusOf(invented('i')), 401)
  time.ms += 10_000
  t.equal(await statusOf(invented('i')), 401)
  t.equal(server.asked(), 13, 'a clock that was turned back keeps nothing unknown')
})

t.test('a slow issuer is waited for a second, and no longer', async (t) => {
  const { server, statusOf } = await start(t, [first])
  server.set.answer = () => undefined
  const began = performance.now()
  t.equal(await statusOf(tokenOf(second)), 401)
  const waited = performance.now() - began
  t.ok(waited >= 990 && waited < 4_000, `${waited} ms`)
  t.equal(await statusOf(tokenOf(first)), 200)
})

t.test(
  'tokens of a key that is gone from the set are forgotten at once; others go on',
  async (t) => {
    const { server, time, statusOf, reasons, output, keysOf } = await start(t, [first, second])
    const [old, current] = [tokenOf(first), tokenOf(second)]
    for (const token of [old, current]) t.equal(await statusOf(token), 200)
    server.set.keys = [second.jwk]
    t.equal(await statusOf(old), 200, 'nobody has told the gateway')
    time.ms += 30_000
    t.equal(await statusOf(tokenOf(signingKey('ES256', 'third'))), 401)
    t.equal(await statusOf(old), 401)
    t.equal(await statusOf(current), 200)
    await until(() => reasons().filter((reason) => reason === 'jwt_keys').length === 2)
    t.match(keysOf(), { keys: 1, failure: undefined })
    t.notMatch(output(), /can’t be fetched/)
  },
)

t.test(
  'until a set has come its tokens get 503; after that, known keys go on whatever it answers',
  async (t) => {
    const { server, keysOf } = await start(t, [first], {
      more: '',
    })
    t.equal(server.asked(), 0, 'without jwt nothing is fetched')
    t.equal(keysOf(), undefined)
    server.set.answer = (response) => response.writeHead(500).end()
    const other = await start(t, [first], { more: jwtSection(server.url) })
    t.match(await other.call('GET', '/v1/x', undefined, bearer(tokenOf(first))), {
      status: 503,
      headers: { 'retry-after': '5' },
    })
    await until(() => other.reasons().includes('jwt_keys'))
    t.equal(said(other.output(), 'can’t be fetched').length, 1)
    t.match(other.keysOf(), { keys: undefined, failure: 'it answered 500' })
    delete server.set.answer
    other.time.ms += 30_000
    t.equal(await other.statusOf(tokenOf(first)), 200)
    await until(() => said(other.output(), 'fetched again').length === 1)
    const bad: Record<string, (response: ServerResponse) => void> = {
      'it answered 302': (response) => response.writeHead(302, { location: server.url }).end(),
      'it isn’t JSON, or has over 4096 names': (response) => response.end('<html>'),
      'it isn’t a key set: an object with a list of keys': (response) => response.end('[]'),
      'it has 101 keys; at most 100 are allowed': (response) =>
        response.end(JSON.stringify({ keys: Array.from({ length: 101 }, () => first.jwk) })),
      'it has over 1,048,576 bytes': (response) =>
        response.end(`{"keys":[${' '.repeat(2 ** 20)}]}`),
    }
    for (const [failure, answer] of Object.entries(bad)) {
      server.set.answer = answer
      other.time.ms += 30_000
      t.equal(await other.statusOf(tokenOf(second)), 401)
      await until(() => other.keysOf()?.failure === failure)
      t.equal(await other.statusOf(tokenOf(first, { claims: { jti: failure } })), 200, failure)
    }
  },
)

t.test('keys that aren’t for signatures, or too weak, verify nothing, and are told', async (t) => {
  const weak = signingKey('RS256', 'weak', 1_024)
  const forEncryption = signingKey('RS256', 'enc')
  const { server, statusOf, keysOf, time } = await start(t, [first, weak])
  const isWeak = { kid: 'weak', reason: 'it is RSA of under 2048 bits' }
  t.match(keysOf(), { keys: 1, leftOut: [isWeak] })
  const { privateKey } = generateKeyPairSync('ed25519')
  const { publicKey } = generateKeyPairSync('x25519')
  server.set.keys = [
    { kty: 'oct', k: 'c2VjcmV0', kid: 'oct' },
    { ...forEncryption.jwk, use: 'enc' },
    { ...second.jwk, key_ops: ['encrypt'] },
    { ...first.jwk, alg: 'ES384' },
    { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: 'none' },
    { kty: 'RSA', kid: 'cut' },
    { ...publicKey.export({ format: 'jwk' }), kid: 'x' },
    ...['a', 7, null].map((each) => each as unknown as object),
    privateKey.export({ format: 'jwk' }),
  ]
  time.ms += 30_000
  for (const key of [weak, forEncryption, second, first]) {
    t.equal(await statusOf(tokenOf(key)), 401, key.kid)
  }
  const unreadable = 'it can’t be read as a public key'
  t.match(keysOf(), { keys: 1 })
  t.strictSame(keysOf()?.leftOut, [
    { kid: 'oct', reason: 'it is a shared secret (oct)' },
    { kid: 'enc', reason: 'its use isn’t sig' },
    { kid: 'second', reason: 'its key_ops lack verify' },
    { kid: 'first', reason: 'its alg isn’t one that is taken with such a key' },
    ...['none', 'cut'].map((kid) => ({ kid, reason: unreadable })),
    { kid: 'x', reason: 'no algorithm that is taken is for its kty and crv' },
    ...Array.from({ length: 3 }, () => ({ kid: null, reason: unreadable })),
  ])
  t.equal(
    await statusOf(
      tokenOf({ kid: '', alg: 'EdDSA', privateKey, jwk: {} }, { header: { kid: undefined } }),
    ),
    200,
  )
})

t.test('a set that lists a key twice has it once', async (t) => {
  const { statusOf, keysOf } = await start(t, [first, first])
  t.equal(await statusOf(tokenOf(first)), 200)
  t.match(keysOf(), { keys: 1 })
})

t.test('without an id, the one key that fits counts; of several, none', async (t) => {
  const { statusOf } = await start(t, [first, signingKey('RS256')])
  const nameless = tokenOf(first, { header: { kid: undefined } })
  t.equal(await statusOf(nameless), 200)
  const two = await start(t, [first, second])
  t.equal(await two.statusOf(nameless), 401)
  await until(() => two.reasons().includes('jwt_keys'))
})

t.test('a reload fetches nothing again, and forgets what it takes away', async (t) => {
  const { server, app, upstream, statusOf, reasons } = await start(t, [first])
  const change = (section: string): Promise<void> =>
    app.change(parseConfig(configFor(upstream.url, 'file: x.db', { more: section }), {}, 'x.yaml'))
  const [token, both] = [
    tokenOf(first),
    tokenOf(first, { claims: { aud: ['https://api.example', 'other'] } }),
  ]
  for (const each of [token, both]) t.equal(await statusOf(each), 200)
  await change(`${jwtSection(server.url)}\nkeys: { cache: 7 }`)
  t.equal(await statusOf(token), 200)
  await change(jwtSection(server.url).replace('https://api.example', 'other'))
  t.equal(await statusOf(token), 401)
  t.equal(await statusOf(both), 200)
  await change(jwtSection(server.url, 'plan: pro, algorithms: [ RS256 ]'))
  t.equal(await statusOf(both), 401)
  await change(jwtSection(server.url, 'plan: pro'))
  t.equal(await statusOf(token), 200)
  t.equal(upstream.seen.at(-1)?.headers['x-caller-plan'], 'pro')
  await change(jwtSection(server.url, 'plan: free'))
  t.equal(await statusOf(token), 200)
  t.equal(upstream.seen.at(-1)?.headers['x-caller-plan'], 'free', 'another plan, the same token')
  t.ok(app.front.directory.outsiderOf(token))
  await change(jwtSection(server.url, 'plan: pro, claims: { azp: shop }'))
  t.notOk(app.front.directory.outsiderOf(token), 'its WebSockets end')
  t.equal(await statusOf(token), 401)
  await change('')
  t.equal(await statusOf(token), 401)
  t.equal(server.asked(), 1)
  await until(() => reasons().length === 4)
  t.strictSame(reasons(), ['jwt_audience', 'jwt_signature', 'jwt_audience', 'unknown_token'])
})

t.test(
  'a key that comes to a file leaves known tokens alone; one that goes ends its own',
  async (t) => {
    const folder = folderOf(t)
    const [file, store] = [join(folder, 'jwks.json'), `file: "${join(folder, 'gateway.db')}"`]
    const write = (...keys: readonly SigningKey[]): void =>
      writeFileSync(file, JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }))
    write(first)
    const { app, upstream, statusOf } = await start(t, [], { store, more: jwtSection(file) })
    const reload = (): Promise<void> =>
      app.change(
        parseConfig(
          configFor(upstream.url, 'file: x.db', { more: jwtSection(file) }),
          {},
          'x.yaml',
        ),
      )
    const token = tokenOf(first)
    t.equal(await statusOf(token), 200)
    write(first, second)
    await reload()
    t.ok(app.front.directory.recall(token), 'its WebSockets go on, too')
    t.equal(await statusOf(tokenOf(second)), 200)
    write(second)
    await reload()
    t.notOk(app.front.directory.recall(token))
    t.equal(await statusOf(token), 401)
  },
)

t.test('a token that was let in ends a minute after its end', async (t) => {
  const { time, statusOf, reasons } = await start(t, [first])
  const exp = Math.floor(time.ms / 1_000) + 100
  const token = tokenOf(first, { claims: { ...usualClaims(time.ms), exp } })
  t.equal(await statusOf(token), 200)
  time.ms = (exp + 60) * 1_000 - 1
  t.equal(await statusOf(token), 200)
  time.ms++
  t.equal(await statusOf(token), 401)
  await until(() => reasons().includes('jwt_expired'))
})
