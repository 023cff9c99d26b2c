import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig } from '../../../gateway/office/config/load.ts'
import { ProcessSecrets } from '../../../gateway/process-secrets.ts'
import { startAdmin } from '../../support/admin.ts'
import { messagesOf } from '../../support/configuration.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { token } from '../../support/operator.ts'

const canary = 'canary-of-a-file'

/** A folder of secrets, and a configuration that takes them. */
function folderWith(t: Test, files: Readonly<Record<string, string | Buffer>>) {
  // Gateways of the test have a folder of theirs.
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-secrets-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return { folder, at: (name: string) => `\${file:${join(folder, name)}}` }
}

const plain = (more: string) => `
plans: { free: { perMinute: 60, perDay: 1000 } }
upstreams: { animals: { targets: [ "http://127.0.0.1:8090" ] } }
routes: [ { path: /v1/*, upstream: animals } ]
${more}`

t.test('a secret in a file stands wherever a variable may, is a text, and is never shown', (t) => {
  const { folder, at } = folderWith(t, {
    ...{ password: `${canary}\n`, digits: '123456', two: `${canary}\n\n`, crlf: `${canary}\r\n` },
    most: 'x'.repeat(65_536),
  })
  symlinkSync(join(folder, 'password'), join(folder, 'link'))
  const file = join(folder, 'x.yaml')
  writeFileSync(
    file,
    `
plans: { free: { perMinute: 60, perDay: 1000 } }
store: { prefix: ${at('digits')}, redis: { cluster: [ "redis:7000" ], username: ${at('link')}, password: '${at('crlf')}' } }
upstreams:
  animals:
    targets: [ "http://127.0.0.1:8090" ]
    forward:
      headers: { authorization: "Bearer ${at('password')}", x-pair: "\${NAME}-${at('password')}", x-most: ${at('most')} }
routes: [ { path: /v1/*, upstream: animals } ]
deprecations: [ { operation: GET /v1/x, since: 2030-01-01, docs: "https://x/?q=${at('password')}" } ]
`,
  )
  const { config, shown, secrets, withNames } = readConfig(file, { NAME: 'name' })
  t.match(config.store, {
    prefix: '123456',
    redis: { username: canary, password: canary },
  })
  t.match(config.upstreams.get('animals')?.headers, {
    authorization: `Bearer ${canary}`,
    'x-pair': `name-${canary}`,
    'x-most': 'x'.repeat(65_536),
  })
  t.match(shown, {
    store: { prefix: at('digits'), redis: { username: at('link'), password: at('crlf') } },
    upstreams: { animals: { forward: { headers: { authorization: '…', 'x-pair': '…' } } } },
    deprecations: [{ docs: `https://x/?q=${at('password')}` }],
  })
  t.notMatch(JSON.stringify([shown, secrets]), canary)
  t.equal(withNames(`failed at ${canary}!`), `failed at ${at('password')}!`)
  const lines = (name: string) => plain(`store: { prefix: ${at(name)} }`)
  writeFileSync(file, lines('two'))
  t.equal(readConfig(file).config.store.prefix, `${canary}\n`, 'and one end of a line is left out')
  t.end()
})

t.test('a file that can’t be read, or has nothing, is a mistake at its place', (t) => {
  const { folder, at } = folderWith(t, {
    ...{ nothing: '', line: '\n', long: 'x'.repeat(65_537), sixty: '60', secret: canary },
  })
  mkdirSync(join(folder, 'folder'))
  const told = (value: string) => messagesOf(plain(`store: { prefix: ${value} }`))
  const wrong = (value: string, why: string) =>
    t.strictSame(told(value), [`x.yaml:5:18: ${value} can't be read: ${why}`])
  wrong(at('missing'), 'there is no such file')
  wrong(at('nothing'), 'it is empty')
  wrong(at('line'), 'it is empty')
  wrong(at('folder'), "it isn't a file")
  wrong(at('long'), 'it has 65,537 bytes; at most 65,536 are allowed')
  wrong('${file:}', 'its path is missing')
  wrong('${file:/run/x:-usual}', 'its path can have no variable, and no default')
  t.match(told('"${file:/run/${NAME}}"'), [/its path can have no variable, and no default$/])
  t.match(told('"${NAME:-${file:/run/x}}"'), [/a default can have no variable in it$/])
  const limit = at('sixty')
  t.strictSame(messagesOf(plain('').replace('60', limit)), [
    `x.yaml:2:29: plans.free.perMinute must be a whole number above 0 or "unlimited", got ${limit}, whose text isn't shown`,
  ])
  const url = messagesOf(plain(`store: { redis: ${at('secret')} }`)).join()
  t.match(url, 'whose text isn')
  t.notMatch(url, canary)
  t.end()
})

t.test('a text that is sent reads no file but those of the file in force', async (t) => {
  const { folder, at } = folderWith(t, { named: canary, other: 'another', broken: '' })
  const admin = '{ host: 127.0.0.1, port: 0, save: true }'
  const more = `notices: [ { to: "http://127.0.0.1:1", secret: ${at('named')} } ]\n# ${at('other')}`
  const { ask } = await startAdmin(t, { admin, more })
  const path = '/admin/config/file'
  const yaml = { 'content-type': 'application/yaml' }
  const read = await ask('GET', path)
  const save = async (text: string) =>
    ask('PUT', path, text, { ...yaml, 'if-match': String(read.headers['etag']) })
  const why = `the file in force doesn’t name it`
  for (const name of ['other', 'broken', 'missing']) {
    const text = `${read.text}\nvia: ${at(name)}\n`
    const { status, text: answer } = await save(text)
    t.equal(status, 400)
    t.match(answer, why, `${name}, whether it is there or not`)
    const checked = await ask('POST', '/admin/config/check', text, yaml)
    t.match(json(checked), { sound: true, mistakes: [] }, 'and a check reads none at all')
    t.notMatch(checked.text, /another|empty|no such/)
  }
  t.match(
    json(
      await ask(
        'POST',
        '/admin/config/check',
        read.text.replace(at('named'), '${file:/etc/shadow}'),
        yaml,
      ),
    ),
    {
      sound: true,
    },
  )
  const lost = await save(read.text.replace(at('named'), 'written-by-somebody'))
  t.match(json(lost), { status: 409, message: `${at('named')} would be lost` })
  t.equal(
    (await save(`${read.text}\nvia: gw\n`)).status,
    200,
    'and those of the file in force are read',
  )
  const shown = await ask('GET', '/admin/config')
  t.match(shown.text, join(folder, 'named'))
  t.notMatch(shown.text, canary)
})

t.test('a reload reads them again; one that can’t be read leaves the old value', async (t) => {
  const { folder, at } = folderWith(t, { key: 'first\n', shared: 'the-first-secret-of-all' })
  const upstream = await startUpstream(t)
  const upstreamMore = `forward: { headers: { x-key: ${at('key')} } }`
  const { gateway, ask } = await startAdmin(t, { upstream, upstreamMore, secret: at('shared') })
  const { headers } = await gateway.key()
  const seen = async () => {
    t.equal((await gateway.call('GET', '/v1/x', undefined, headers)).status, 200)
    const { 'x-key': key, 'signature-input': input } = upstream.seen.at(-1)?.headers ?? {}
    return { key, id: /keyid="(\w+)"/.exec(String(input))?.[1] }
  }
  const reload = async () => json(await ask('POST', '/admin/config/reload'))
  const first = await seen()
  t.match(first, { key: 'first', id: /^\w{12}$/ })
  t.match(await reload(), { result: 'unchanged' })
  rmSync(join(folder, 'key'))
  t.match(await reload(), {
    status: 409,
    message: /x-key.*there is no such file|can't be read: there is no such file/,
  })
  t.strictSame(await seen(), first)
  writeFileSync(join(folder, 'key'), 'second')
  t.match(await reload(), { result: 'changed' })
  t.strictSame(await seen(), { ...first, key: 'second' })
  writeFileSync(join(folder, 'shared'), 'the-second-secret-of-all')
  t.match(await reload(), { result: 'changed' })
  const signed = await seen()
  t.not(signed.id, first.id, 'and requests are signed with the new secret')
  rmSync(join(folder, 'shared'))
  t.match(await reload(), { status: 409, message: /GATEWAY_SECRET: .* can't be read/ })
  t.strictSame(await seen(), signed)
})

t.test('tokens of operators come from files, and change with them', async (t) => {
  const { folder, at } = folderWith(t, { alice: `${token}\n` })
  const bob = '0123456789abcdef-of-bob'
  const { ask, operate } = await startAdmin(t, { tokens: `alice:${at('alice')},bob/read:${bob}` })
  const as = (secret: string) =>
    operate('GET', '/admin/config', undefined, { authorization: `Bearer ${secret}` })
  t.equal((await as(token)).status, 200)
  const next = 'fedcba9876543210-alice'
  writeFileSync(join(folder, 'next'), next)
  renameSync(join(folder, 'next'), join(folder, 'alice'))
  t.match(json(await ask('POST', '/admin/config/reload')), { result: 'changed' })
  t.equal((await as(token)).status, 401, 'the old one is none any more')
  t.equal((await as(next)).status, 200)
  t.equal((await as(bob)).status, 200)
  writeFileSync(join(folder, 'alice'), 'short')
  const refused = await operate('POST', '/admin/config/reload', undefined, {
    authorization: `Bearer ${next}`,
  })
  t.match(json(refused), { status: 409, message: /ADMIN_TOKEN has a token of 5 characters/ })
  t.equal((await as(next)).status, 200, 'and one that is no good leaves the old one')
  t.throws(() => new ProcessSecrets({ ADMIN_TOKEN: at('missing') }), {
    message: `ADMIN_TOKEN: ${at('missing')} can't be read: there is no such file`,
  })
})
