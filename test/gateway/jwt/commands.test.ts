import { readFileSync } from 'node:fs'
import t from 'tap'
import { listIssuers } from '../../../gateway/office/operations/jwt/list.ts'
import { startAdmin } from '../../support/admin.ts'
import { runCommand } from '../../support/command.ts'
import { json } from '../../support/http.ts'
import {
  audience,
  bearer,
  issuerName,
  jwtSection,
  signingKey,
  startKeyServer,
  tokenOf,
} from '../../support/jwt.ts'
import { logged } from '../../support/logs.ts'
import { until } from '../../support/until.ts'

const key = signingKey('ES256')
const server = await startKeyServer(t, [key, signingKey('RS256', 'weak', 1_024)])
const reason = 'it is RSA of under 2048 bits'
const { log, output } = logged('trace')
const plan = 'plan: { claim: plan, is: { gold: pro }, else: free }, account: tenant'
const { gateway, ask, file } = await startAdmin(t, {
  log,
  more: jwtSection(server.url, plan),
})
const good = tokenOf(key, { claims: { plan: 'gold', tenant: 'acme' } })
const account = `${issuerName}#acme`
const run = (command: string, line: string, ...more: string[]) =>
  runCommand([...command.split(' '), '--config', file, ...more], {}, { line })

t.test('a check tells what a token says, whether it verifies, and whose it would be', async (t) => {
  const caller = {
    name: 'alice',
    issuer: issuerName,
    subject: 'alice',
    plan: 'pro',
    account,
  }
  const checked = await ask('POST', '/admin/jwt/check', { token: good })
  t.match(json(checked), {
    header: { alg: 'ES256' },
    claims: { aud: audience },
    reason: null,
    caller,
  })
  const bad: Record<string, string> = {
    jwt_expired: tokenOf(key, { claims: { exp: 1_700_000_000 } }),
    jwt_signature: `${good.slice(0, -3)}AAA`,
    jwt_malformed: tokenOf(key, { claimsText: '{}x' }),
    jwt_issuer: tokenOf(key, { claims: { iss: 'other' } }),
    jwt_keys: tokenOf(key, { header: { kid: 'unknown' } }),
  }
  for (const [reason, token] of Object.entries(bad)) {
    t.match(json(await ask('POST', '/admin/jwt/check', { token })), { reason })
    const ran = await run('jwt check -', token)
    t.match(ran, { code: 1, out: `It is refused (${reason}).` })
  }
  for (const ran of [await run('jwt check', good), await run(`jwt check ${good}`, '')]) {
    t.match(ran, { code: 0, out: /^It verifies\.\n\nheader: +\{"alg":"ES256"/ })
    t.match(
      ran.out,
      /\nits key: +\w{12}\nname: +alice\nsubject: +alice\nplan: +pro\naccount: +https:\/\/login\.example\/#acme\n/,
    )
  }
  t.match(await run('jwt check', 'tg_no-jwt'), { code: 2, out: 'this is no JWT' })
  t.match(await ask('POST', '/admin/jwt/check', { token: 'x.y.z' }), { status: 400 })
})

t.test('a token’s caller is found, verified or not, once it has a record', async (t) => {
  const find = async (token: string) => ask('POST', '/admin/keys/find', { token })
  t.match(await find(good), {
    status: 404,
    text: /for alice, of https:.*no record yet; it verifies/,
  })
  t.equal((await gateway.call('GET', '/v1/x', undefined, bearer(good))).status, 200)
  t.match(json(await find(good)), {
    ...{ token: 'jwt', until: /Z$/, works: true },
    key: { name: 'alice', kind: 'jwt', issuer: issuerName, subject: 'alice', plan: 'pro' },
  })
  const cut = `${good.slice(0, -3)}AAA`
  t.match(json(await find(cut)), { token: 'jwt', works: false, key: { name: 'alice' } })
  t.match(await run('keys find', good), { out: /This JWT is for alice, of https:.*It works/ })
  t.match(await find(tokenOf(key, { claims: { iss: 'other' } })), { status: 404 })
})

t.test('lists and bills tell its account with the issuer', async (t) => {
  t.match(await run('keys list', '', '--account', account), { code: 0, out: / alice / })
  t.notMatch((await run('keys list', '', '--account', 'acme')).out, / alice /)
  await gateway.app.front.flushCounts()
  const month = new Date().toISOString().slice(0, 7)
  const bill = await run('usage export', '', '--month', month, '--json')
  t.match(JSON.parse(bill.out), [{ account }])
})

t.test('issuers are listed with their callers and their key sets', async (t) => {
  const [issuer] = json(await ask('GET', '/admin/jwt')) as unknown as object[]
  t.match(issuer, {
    issuer: issuerName,
    audience,
    callers: 1,
    keys: 1,
    leftOut: [{ kid: 'weak', reason }],
    failure: null,
    fetchedAt: /Z$/,
  })
  server.set.answer = (response) => response.writeHead(503).end()
  await gateway.call('GET', '/v1/x', undefined, bearer(tokenOf(key, { header: { kid: 'other' } })))
  await until(async () => {
    const [{ failure }] = json(await ask('GET', '/admin/jwt')) as unknown as [{ failure: unknown }]
    return failure === 'it answered 503'
  })
  const states =
    listIssuers.where === 'gateway' &&
    listIssuers.text(json(await ask('GET', '/admin/jwt')), {} as never)
  t.match(states, /\nhttps:\/\/login\.example\/ +1 of 100,000 +1 +2.*it answered 503/)
  t.match(states, /\n\nISSUER +KEY LEFT OUT +WHY\nhttps:\/\/login\.example\/ +weak +it is RSA of/)
})

t.test('what the issuer says can’t be changed by commands either', async (t) => {
  for (const command of [
    'keys change alice --plan free',
    'keys change alice --no-account',
    'keys rotate alice',
  ]) {
    const ran = await run(command, '')
    t.match(ran, { code: 1 }, command)
    t.match(ran.out, /comes with its tokens, from https:/)
  }
  t.match(await run('keys change alice --per-minute 7', ''), { code: 0 })
  t.match(await run('keys show alice', ''), {
    out: /\nissuer: +https:\/\/login\.example\/\nsubject: +alice\n/,
  })
})

t.test('a caller can be changed whose plan or account is gone', async (t) => {
  const { desk, stores } = gateway
  const origin = { kind: 'jwt', issuer: issuerName, subject: 'carol' }
  const caller = { name: 'carol', plan: 'gone', createdAtMs: 1, secrets: [], ...origin }
  await stores.keys.add([{ ...caller, id: 'carolsrecord', cap: { perMinute: 5, sinceMs: 1 } }])
  t.match(await run('keys change carolsrecord --note mine --per-minute 7', ''), { code: 0 })
  t.match(await desk.show('carolsrecord'), { note: 'mine', limits: { perMinute: 7 } })
  const answer = await ask('PATCH', '/admin/keys/carolsrecord', { cap: { perMinute: 3 } })
  t.match(answer, { status: 400, text: /A cap is a part of an account’s quota/ })
  t.match(await ask('PATCH', '/admin/keys/carolsrecord', { cap: null }), { status: 200 })
  t.match(await run('keys change carolsrecord --per-minute 0', ''), { code: 2 })
})

t.test('no token is in the log or in the audit', async (t) => {
  const audit = (await ask('GET', '/admin/audit')).text
  for (const text of [output(), audit, readFileSync(file, 'utf8')]) {
    t.notMatch(text, good.split('.')[1] ?? '')
  }
})
