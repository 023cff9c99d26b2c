import { spawnSync } from 'node:child_process'
import type { lookup as systemLookup } from 'node:dns'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { parseConfig } from '../../../gateway/office/config/load.ts'
import { previewConfig } from '../../../gateway/office/config/preview.ts'
import { delaysMs } from '../../../gateway/office/notices/deliveries.ts'
import { send } from '../../../gateway/office/notices/send.ts'
import { noticesView } from '../../../gateway/office/notices/view.ts'
import { KeyDesk } from '../../../gateway/front/keys/key-desk.ts'
import { noterFor } from '../../../gateway/front/records/audit.ts'
import { hmacBy } from '../../../shared/hmac.ts'
import { collectGarbage } from '../../support/garbage.ts'
import { configFor, startGateway } from '../../support/gateway.ts'
import { root } from '../../support/process.ts'
import { entry, movable, secret, startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

t.test('a notice is signed so that others can verify it', async (t) => {
  const { got, url } = await startReceiver(t)
  const keys = [`whsec_${Buffer.from('x'.repeat(24)).toString('base64')}`, 'some other secret']
  const more = `notices: [ { to: "${url}", secret: "${keys.join(', ')}" } ]`
  const { app } = await startGateway(t, { more })
  t.match(await app.office.notices.test(), [
    { to: /^http:\/\/127.0.0.1:\d+\/…$/, isDelivered: true },
  ])
  const [notice] = got
  if (!notice) throw new Error('it came')
  const { headers, body } = notice
  t.match(headers, { 'content-type': 'application/json', 'user-agent': 'tollgate' })
  t.match(notice, { type: 'notices.test', id: /^msg_[\w-]{27}$/, data: { gateway: /./ } })
  t.match(JSON.parse(body), { timestamp: /^\d{4}-.*Z$/ })

  const signed = `${notice.id}.${String(headers['webhook-timestamp'])}.${body}`
  const bytes = ['x'.repeat(24), 'some other secret']
  const byHashes = bytes.map((key) => Buffer.from(hmacBy(key)(signed), 'hex').toString('base64'))
  const sent = String(headers['webhook-signature'])
  t.equal(sent, byHashes.map((each) => `v1,${each}`).join(' '), 'as two plain hashes make it')
  for (const [i, key] of bytes.entries()) {
    const options = ['dgst', '-sha256', '-hmac', key, '-binary']
    const { stdout, error } = spawnSync('openssl', options, { input: signed })
    if (error) t.comment('this machine has no openssl')
    else t.equal(stdout.toString('base64'), byHashes[i], 'as openssl makes it')
  }

  const readme = readFileSync(join(root, 'gateway/office/notices/README.md'), 'utf8')
  const [, example = ''] = /```js\n([^]*?)```/.exec(readme) ?? []
  t.ok(example.trim().split('\n').length <= 13, 'a function of ten lines')
  const module = join(folderOf(t), 'verify.mjs')
  writeFileSync(module, example)
  const { isFromGateway } = (await import(pathToFileURL(module).href)) as {
    isFromGateway: (headers: object, body: string, secret: string) => boolean
  }
  for (const key of keys) t.ok(isFromGateway(headers, body, key), key)
  t.notOk(isFromGateway(headers, body.replace('test', 'text'), keys[0] ?? ''), 'another body')
  t.notOk(isFromGateway(headers, body, 'a key of somebody else'))
  t.notOk(isFromGateway({}, body, keys[0] ?? ''), 'without a signature')
  const old = {
    ...headers,
    'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 301),
  }
  t.notOk(isFromGateway(old, body, keys[0] ?? ''), 'of another time')
})

t.test('a receiver in trouble gets the same notice again, as long as it may take', async (t) => {
  const { clock, move } = movable()
  let status: number | 'hang' = 500
  const receiver = await startReceiver(t, () => status)
  const calm = await startReceiver(t)
  const more = `notices: [ ${entry(receiver.url)}, ${entry(calm.url)} ]`
  const { app, stores, config } = await startGateway(t, { more, clock })
  const { office, front } = app
  const [notices, meters] = [office.notices, front.meters]
  const { got } = receiver
  const store = stores.notices
  const view = (isFailed: boolean) =>
    noticesView({ notices: config.notices, store, isFailed, limit: 9 })
  await notices.tick()
  const noted = noterFor(stores.audit, 'alice', clock)
  const noting = new KeyDesk({ store: stores.keys, plans: config.plans, clock, noted })
  const { key } = await noting.create({ name: 'Zoo', plan: 'free', account: 'acme' })
  await notices.tick()
  await until(() => got.length === 1)
  await until(() => calm.got.length === 1)
  for (const [i, delayMs] of delaysMs.entries()) {
    await until(async () => (await view(true)).notices[0]?.tries === i + 1)
    move(delayMs - 2_000)
    await notices.tick()
    if (i === 2) {
      t.match((await view(true)).notices, [{ type: 'key.created', tries: 3, why: 'answered 302' }])
    }
    t.equal(got.length, i + 1, 'not before its time')
    move(2_000 + 0.2 * delayMs)
    if (i === 1) status = 302
    await notices.tick()
    await until(() => got.length === i + 2)
  }
  await until(async () => (await view(false)).addresses[0]?.givenUp === 1)
  t.match(await view(false), {
    addresses: [{ waiting: 0, givenUp: 1 }, { givenUp: 0 }],
    notices: [{ tries: 8, to: /^http:\/\/127.0.0.1:\d+\/…$/ }],
  })
  t.equal(new Set(got.map(({ id }) => id)).size, 1, 'eight tries have one id')
  t.equal(new Set(got.map(({ body }) => body)).size, 1, 'and one body')
  t.match(got[0]?.data, { key: { id: key.id, name: 'Zoo', account: 'acme' }, by: 'alice' })
  t.equal(calm.got.length, 1, 'another address got it once')
  const counted = [...meters.notices].map(([type, result, count]) => `${type} ${result} ${count}`)
  t.strictSame(counted.sort(), [
    ...['key.created delivered 1', 'key.created failed 8', 'key.created given_up 1'],
  ])

  await t.test('one that hangs is left after five seconds, and holds up nobody', async (t) => {
    status = 'hang'
    await noting.edit(key.id, noting.changing({ name: 'Farm' }))
    await notices.tick()
    await until(() => got.length === 9 && calm.got.length === 2)
    // A time limit must not be garbage while it runs.
    for (let i = 0; i < 5; i++) {
      collectGarbage()
      await sleep(10)
    }
    await until(async () => (await view(true)).notices[0]?.why === 'no answer within 5 s')
    t.match(calm.got[1]?.data, { before: { name: 'Zoo' }, after: { name: 'Farm' } })
  })

  await t.test('410 ends an address, until a test arrives there', async (t) => {
    status = 410
    move(12_000)
    await notices.tick()
    await until(async () => (await view(false)).addresses[0]?.endedAt !== null)
    await noting.edit(key.id, noting.revoking())
    await notices.tick()
    await until(() => calm.got.length === 3)
    t.equal(got.length, 10)
    t.equal(calm.got[2]?.type, 'key.revoked')
    t.match(await notices.test(), [{ isDelivered: false, status: 410 }, { isDelivered: true }])
    t.ok((await view(false)).addresses[0]?.endedAt)
    status = 200
    t.match(await notices.test(), [{ isDelivered: true }, {}])
    t.equal((await view(false)).addresses[0]?.endedAt, null)
  })
})

t.test('notices go to the internet, to this machine, or where they are allowed', async (t) => {
  const check = (to: string, more = '', environment = {}) => {
    const yaml = configFor('http://127.0.0.1:1', 'file: x.db', {
      more: `notices: [ { to: "${to}", secret: "${secret}"${more} } ]`,
    })
    try {
      parseConfig(yaml, environment, 'x')
      return ''
    } catch (error) {
      return String(error instanceof Error && error.message).replace(/^x:\d+:\d+: /, '')
    }
  }
  const internal = [
    ...['10.0.0.1', '172.16.0.9', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0'],
    ...[
      '224.0.0.1',
      '[fd00::1]',
      '[fe80::1]',
      '[::ffff:10.0.0.1]',
      '[64:ff9b::a00:1]',
      '0xa000001',
    ],
    ...['[::10.0.0.1]', '[::ffff:0:10.0.0.1]', '[3fff::1]', '[5f00::1]', '168.63.129.16'],
    ...['[100:0:0:1::1]', '[2001:20::1]', '[2001:2::1]'],
    ...['redis', 'metadata.google.internal', 'printer.local', '10.1', 'db.corp.internal.'],
  ]
  for (const host of internal) {
    t.match(check(`https://${host}/x`), /^notices\[0\]\.to is .*: notices go there only if /, host)
  }
  t.equal(
    check('https://10.0.0.1/x'),
    'notices[0].to is 10.0.0.1, an address of a private network: notices go there only if it is in allow, such as allow: [10.0.0.1]',
  )
  t.match(check('http://10.0.0.1/x'), /must be https/)
  t.match(check('http://10.0.0.1/x', ', allow: [10.0.0.0/8]'), /must be https/)
  t.match(check('http://hooks.example/x'), /must be https/)
  t.match(check('https://me:word@hooks.example'), /must have no user name/)
  t.match(
    check('https://hooks.example', ', allow: [10.0.0.0/40]'),
    /notices\[0\]\.allow\[0\] must be/,
  )
  t.match(check('https://hooks.example', ', about: [key.bannd]'), /did you mean key\.banned\?/)
  const fine = [
    'https://hooks.example/x?y=z',
    'http://localhost:9/x',
    'http://127.0.0.1',
    'http://[::1]',
    'https://168.63.129.17',
    'https://8.8.8.8',
    'https://[2606:4700::1111]',
    'https://[2001:4860:4860::8888]',
  ]
  for (const to of fine) t.equal(check(to), '', to)
  t.equal(check('https://10.0.0.1/x', ', allow: [10.0.0.0/8]'), '')
  t.equal(check('https://redis/x', ', allow: [10.0.0.0/8]'), '')
  const hidden = check('${HOOK}', '', { HOOK: 'https://10.0.0.77/word' })
  t.match(hidden, /an address of a private network/)
  t.notMatch(hidden, /10\.0\.0\.77|word/, 'the value of a variable is not told')

  const written = (value: string) => {
    const more = `notices: [ { to: "https://hooks.example/${value}", secret: "${value}" } ]`
    return configFor('http://127.0.0.1:1', 'file: x.db', { more })
  }
  for (const value of ['short', 'whsec_c2hvcnQ=', `${secret},${secret},${secret}`]) {
    t.throws(() => parseConfig(written(value), {}, 'x'), {
      message: /secret must be one or two keys/,
    })
  }
  const { shown } = previewConfig(written(secret.replaceAll(' ', '-')), {}, 'x')
  t.match(shown, { notices: [{ secret: '…' }] })

  const { url, got } = await startReceiver(t)
  const notice = { id: 'msg_1', body: '{"type":"t","data":{}}' }
  const { port } = new URL(url)
  const to = (address: string, allow: string[] = [], host = 'hooks.example') =>
    send({
      settings: { to: `http://${host}:${port}/hook`, secrets: [secret], about: ['*'], allow },
      ...{ notice, nowMs: Date.now(), signal: new AbortController().signal },
      // A name whose owner moves it.
      lookup: ((_host: string, _options: object, done: (...found: unknown[]) => void) =>
        done(null, [{ address, family: 4 }])) as unknown as typeof systemLookup,
    })
  t.match(await to('127.0.0.1'), {
    isDelivered: false,
    why: 'hooks.example: 127.0.0.1 is an address of this machine, and not in allow',
  })
  t.match(await to('127.0.0.1', ['127.0.0.0/8']), { isDelivered: true })
  t.match(await to('10.0.0.1', [], '10.0.0.1'), { why: /^10\.0\.0\.1 is an address of a private/ })
  t.equal(got.length, 1, 'and only there is a connection made')
})
