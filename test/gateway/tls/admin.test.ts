import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { pairFor, selfSigned } from '../../support/certificate.ts'
import { runCommand } from '../../support/command.ts'
import { aliceToken, own, signIn, tokens } from '../../support/console-session.ts'
import { startServed } from '../../support/fleet.ts'
import { caller, json, tlsCaller } from '../../support/http.ts'
import { token, unlimited } from '../../support/operator.ts'
import { adminOf } from '../../support/process.ts'
import { anyPort } from '../../support/redis.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

t.test('operators come by TLS, and browsers keep a cookie that is for https alone', async (t) => {
  const pair = pairFor(t)
  const { url, operate } = await startAdmin(t, {
    tokens,
    admin: `{ host: 127.0.0.1, port: 0, tls: ${pair.yaml} }`,
    more: 'trustedProxies: [ 127.0.0.1 ]',
  })
  t.match(url, /^https:/)
  await t.rejects(caller(url)('GET', '/healthz'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  t.match(await operate('GET', '/healthz'), { status: 200 })
  const { answer, headers } = await signIn(operate)
  t.match(answer.headers['set-cookie'], /^__Host-tollgate_console=[^;]+; Secure; HttpOnly; Same/)
  t.match(await operate('GET', '/admin/keys', undefined, headers), { status: 200 })
  const { origin } = new URL(url)
  const said = { token: aliceToken }
  t.match(await operate('POST', '/console/session', said, { origin }), { status: 201 })
  // A proxy that is trusted knows better how its client came.
  const behind = { ...own, 'x-forwarded-proto': 'http' }
  const plain = await operate('POST', '/console/session', said, behind)
  t.match(plain.headers['set-cookie'], /^tollgate_console=[^;]+; HttpOnly/)
})

t.test('commands trust the certificate of the admin address, by whatever name', async (t) => {
  const authority = selfSigned()
  // It is for another name than 127.0.0.1, and nobody here knows who has signed it.
  const named = { names: ['gateway.internal'], address: false, signedBy: authority }
  const pair = pairFor(t, selfSigned(named))
  const { file, processes } = await startServed(t, {
    more: unlimited,
    upstream: 'http://127.0.0.1:1',
    admin: `{ host: 127.0.0.1, port: ${anyPort}, tls: ${pair.yaml} }`,
    environments: [{ ADMIN_TOKEN: token, LOG_LEVEL: 'info' }],
  })
  const [gateway] = processes
  if (!gateway) throw new Error('one was asked for')
  t.match(await adminOf(gateway), /^https:/)
  const run = (...args: string[]) => runCommand([...args, '--config', file], { ADMIN_TOKEN: token })
  t.match(await run('config', 'diff', file), { code: 0 })
  t.match(await run('now', '--json'), { code: 0, out: /"gateways"/ })

  await t.test('a new one is in use after SIGHUP', async (t) => {
    const next = selfSigned()
    pair.write(next)
    gateway.signal('SIGHUP')
    await until(() => gateway.output().includes('changed certificates are in use'))
    const call = tlsCaller(await adminOf(gateway), next.cert)
    t.match(await call('GET', '/healthz'), { status: 200 })
    t.match(await run('config', 'diff', file), { code: 0 })
  })

  await t.test('another one is told as what it is', async (t) => {
    const folder = folderOf(t)
    const other = pairFor(t)
    const text = readFileSync(file, 'utf8')
    const copy = join(folder, 'other.yaml')
    writeFileSync(copy, text.replaceAll(pair.cert, other.cert).replaceAll(pair.key, other.key))
    const { code, out } = await runCommand(['now', '--config', copy], {
      ADMIN_TOKEN: token,
    })
    t.equal(code, 1)
    t.match(out, /no gateway answers at https:\/\/127\.0\.0\.1:\d+: self[- ]signed certificate/)
  })

  await t.test('reload says so if the file names others', async (t) => {
    const call = tlsCaller(await adminOf(gateway), readFileSync(pair.cert, 'utf8'))
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(`, tls: ${pair.yaml}`, ''))
    const authorization = { authorization: `Bearer ${token}` }
    const answer = await call('POST', '/admin/config/reload', undefined, authorization)
    t.match(json(answer), { status: 409, message: /admin can’t be changed while the gateway runs/ })
  })
})
