import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  chmod,
  link,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { replaceFile } from '../../../gateway/office/config/replace-file.ts'
import { startAdmin, type AdminOptions } from '../../support/admin.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { token } from '../../support/operator.ts'
import { root } from '../../support/process.ts'
import { startRedis } from '../../support/redis.ts'
import { pause } from '../../support/traffic.ts'
import { until } from '../../support/until.ts'
import { folderOf } from '../../support/folder.ts'

const path = '/admin/config/file'
const withSave = '{ host: 127.0.0.1, port: 0, save: true }'
const yaml = { 'content-type': 'application/yaml' }

/** A gateway whose file may be saved, and what an operator's editor does with it. */
async function startSaving(t: Test, options: AdminOptions = {}) {
  const admin = await startAdmin(t, { admin: withSave, ...options })
  const { ask, file } = admin
  const tag = async () => String((await ask('GET', path)).headers['etag'])
  const save = async (text: string, over?: string) =>
    ask('PUT', path, text, { ...yaml, 'if-match': over ?? (await tag()) })
  const inForce = async () => json(await ask('GET', '/admin/config'))
  return { ...admin, tag, save, inForce, text: readFileSync(file, 'utf8') }
}

t.test('a saved file is in force, byte for byte, with its mode', async (t) => {
  const { ask, save, inForce, file, text } = await startSaving(t)
  t.match(await inForce(), { unsavable: null })
  await chmod(file, 0o640)
  const [free] = /free: \{[^}]*\}/.exec(text) ?? []
  for (const limit of [40, 41]) {
    const next = text.replace(String(free), `free: { perMinute: ${limit}, perDay: 1000 } # ä€😀`)
    const odd = limit === 40 ? next.replaceAll('\n', '\r\n') : `\ufeff${next.trimEnd()}`
    const saved = json(await save(odd))
    t.match(saved, { result: 'changed', config: { plans: { free: { perMinute: limit } } } })
    t.equal(readFileSync(file, 'utf8'), odd)
    t.equal((await inForce())['hash'], saved['hash'])
    const read = await ask('GET', path)
    t.equal(read.headers['etag'], `"${String(saved['hash'])}"`)
    t.equal(read.headers['cache-control'], 'no-store')
    t.equal(read.text.replace(/^\ufeff/, ''), odd.replace(/^\ufeff/, ''))
  }
  t.equal((await stat(file)).mode & 0o777, 0o640)
  t.strictSame(await besideOf(file), [], 'nothing is left beside it')
})

t.test('what is written by hand while a text is checked stays', async (t) => {
  const { save, tag, file, text } = await startSaving(t)
  const more = Array.from({ length: 1_000 }, (_, i) => `{ path: /r${i}/*, upstream: animals }`)
  const long = text.replace('routes: [', `routes: [ ${more.join(', ')},`)
  const byHand = `${text}# by hand\n`
  const saving = save(long, await tag())
  await pause(60)
  await writeFile(file, byHand)
  const answer = await saving
  t.equal(readFileSync(file, 'utf8'), byHand)
  t.match(json(answer), { status: 412, message: /has changed since/ })
})

/** The files beside a configuration that its saves have made. */
async function besideOf(file: string): Promise<string[]> {
  return (await readdir(dirname(file))).filter((name) => name.includes('.save-'))
}

t.test('a text that cannot be saved changes nothing, and a sentence says why', async (t) => {
  const { ask, save, tag, inForce, file, text, write } = await startSaving(t, {
    more: 'drain: ${DRAIN:-3s} # ${COMMENT}',
  })
  const before = await inForce()
  const refused = async (changed: string, status: number, message: RegExp) => {
    const now = readFileSync(file)
    const answer = json(await save(changed))
    t.match(answer, { status, message })
    t.ok(now.equals(readFileSync(file)), 'the file stays')
    t.equal((await inForce())['hash'], before['hash'], 'the configuration stays in force')
    t.strictSame(await besideOf(file), [])
  }
  await refused(
    text.replace('perMinute: 60', 'perMinute: 6O'),
    400,
    /^Nothing was saved: body:\d+:\d+: plans\.free\.perMinute must be .* got "6O"/,
  )
  await refused(text.replace('plans:', 'plams:'), 400, /has no setting "plams"/)
  await refused(
    text.replace('port: 0', 'port: 1'),
    400,
    /listen can’t be changed while the gateway runs: restart it/,
  )
  await refused(text.replace('save: true', 'save: false'), 400, /admin can’t be changed/)
  await refused(text.replace('${DRAIN:-3s}', '3s'), 409, /^\$\{DRAIN\} would be lost/)
  await refused(`${text}\0`, 400, /Nothing was saved/)
  await refused(`${text}\nname: ${'&a ['.repeat(20_000)}`, 400, /Nothing was saved/)
  await refused(
    `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'.replace(
      /./g,
      (b) =>
        `${b}: &${b} [${Array(9)
          .fill(`*${String.fromCharCode(b.charCodeAt(0) - 1)}`)
          .join()}]\n`,
    )}`,
    400,
    /aliases expand to too much data/,
  )
  await refused('', 400, /Nothing was saved/)
  t.equal((await save('#'.repeat(2 ** 20 + 1))).status, 413)
  const match = { ...yaml, 'if-match': await tag() }
  t.equal((await ask('PUT', path, Buffer.from([0x23, 0xff]), match)).status, 400, 'no UTF-8')
  t.equal((await ask('PUT', path, text, { ...yaml, 'if-match': '*' })).status, 412, 'any version')
  await chmod(file, 0o444)
  await refused(`${text}# more\n`, 409, /is write-protected/)
  t.match(await inForce(), { unsavable: /is write-protected/ })
  await chmod(file, 0o644)
  await link(file, `${file}.other`)
  await refused(`${text}# more\n`, 409, /has a second name/)
  await rm(file)
  await symlink(`${file}.other`, file)
  await refused(`${text}# more\n`, 409, /is a link, as Kubernetes makes one of a ConfigMap/)
  await rm(file)
  await rename(`${file}.other`, file)
  t.equal((await save(text.replace('# ${COMMENT}', ''))).status, 200, 'a comment may go')
  write((now) => `${now}# by hand\n`)
  t.match(json(await save(text, match['if-match'])), { status: 412, message: /has changed since/ })
})

t.test('of several who save at once, one does, and the others are told', async (t) => {
  const { save, tag, file, text } = await startSaving(t)
  for (let round = 0; round < 3; round++) {
    const over = await tag()
    const texts = [1, 2, 3, 4].map((who) => `${text}# ${round} by ${who}\n`)
    const answers = await Promise.all(texts.map((each) => save(each, over)))
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 412, 412, 412])
    const won = answers.findIndex(({ status }) => status === 200)
    t.equal(readFileSync(file, 'utf8'), texts[won])
  }
})

t.test('nobody reads or saves the file unless admin.save is on', async (t) => {
  const { ask, file } = await startAdmin(t, { admin: '{ host: 127.0.0.1, port: 0, save: false }' })
  const before = readFileSync(file, 'utf8')
  const message =
    /^Admin\.save is off, because the file says so: write admin: \{ save: true \} into the file by hand and restart/
  t.match(json(await ask('GET', path)), { status: 403, message })
  const put = await ask('PUT', path, before, { ...yaml, 'if-match': '"000000000000"' })
  t.match(json(put), { status: 403, message })
  t.match(json(await ask('GET', '/admin/config')), { unsavable: /^admin\.save is off/ })
  const edited = json(
    await ask('POST', '/admin/config/edit', { set: { 'plans.free.perMinute': 40 } }),
  )
  t.equal(edited['text'], undefined)
  t.match(String(edited['diff']), /^---.*\n\+\+\+.*\n@@ -\d+,1 \+\d+,1 @@\n-.*60.*\n\+.*40.*\n$/)
  const refused = await ask('POST', '/admin/config/edit', { set: { 'plans.free': { '&x': 1 } } })
  t.match(json(refused), { mistakes: [/^.*gateway\.yaml:\d+:\d+: plans\.free/] })
})

t.test('by default admin.save is on with an embedded store on loopback alone', async (t) => {
  const redis = await startRedis(t)
  // A gateway that was started before is another gateway of its store.
  const inRedis = (database: number) => ({ store: `redis: "${redis.url}/${database}"` })
  for (const [options, on, why] of [
    [{}, true, 'the store is embedded and only this machine reaches admin.host'],
    [{ admin: '{ host: localhost, port: 0 }' }, true, 'the store is embedded'],
    [{ admin: withSave }, true, 'the file says so'],
    [{ admin: '{ host: 0.0.0.0, port: 0 }' }, false, 'other machines reach admin.host'],
    [inRedis(0), false, 'the store is Redis'],
    [{ ...inRedis(1), admin: withSave }, true, 'the file says so'],
  ] as const) {
    const { ask } = await startAdmin(t, options)
    const { saving, unsavable } = json(await ask('GET', '/admin/config'))
    const byDefault = why === 'the file says so' ? '' : ' by default here'
    const sentence = `admin.save is ${on ? 'on' : 'off'}${byDefault}, because ${why}`
    t.match(saving, { on, why: sentence })
    t.match(unsavable, on ? null : sentence)
    t.equal((await ask('GET', path)).status, on ? 200 : 403, sentence)
  }
})

t.test('a check tells the lines that change to those alone who may read them', async (t) => {
  const tokens = `${token},bob/read:the-token-of-bob`
  for (const thread of [undefined, {}]) {
    const { ask, text, file } = await startSaving(t, { tokens, ...(thread && { thread }) })
    const check = async (changed: string, headers = {}) =>
      json(await ask('POST', '/admin/config/check', changed, { ...yaml, ...headers }))
    const wrong = text.replace('perMinute: 60', 'perMinute: 6O')
    const { sound, diff } = await check(wrong)
    t.equal(sound, false)
    t.match(diff, new RegExp(`^--- ${file}\n\\+\\+\\+ .*\n@@ [^]*\n-.*: 60,.*\n\\+.*: 6O,`))
    t.match(await check(text), { sound: true, diff: '' })
    const bobs = await check(wrong, { authorization: 'Bearer the-token-of-bob' })
    t.strictSame([bobs['sound'], bobs['diff']], [false, undefined])
  }
})

t.test('the gateways of a fleet must get the file by another way', async (t) => {
  const redis = await startRedis(t)
  const store = `redis: "${redis.url}"`
  const { save, inForce, file, text } = await startSaving(t, { store })
  t.match(await inForce(), { unsavable: null }, 'a gateway is alone')
  const app = await startGateway(t, { store, upstream: await startUpstream(t) })
  await until(async () => (await app.app.front.stores.fleet.list()).members.length === 2)
  t.match(
    await inForce(),
    { unsavable: null },
    'an app with the plugin has a configuration of its own',
  )
  const hash = '0'.repeat(12)
  app.app.front.self.fileState = () => ({
    hash,
    sharedHash: hash,
    loadedAtMs: 0,
    mistakes: undefined,
  })
  await until(async () => (await inForce())['unsavable'] !== null)
  const refused = json(await save(`${text}# more\n`))
  t.match(refused, {
    status: 409,
    message: /^Other gateways of this store must get the file too \(/,
  })
  t.equal(readFileSync(file, 'utf8'), text)
  await redis.kill()
  await until(async () =>
    String((await inForce())['unsavable']).startsWith('the store is out of reach'),
  )
  t.match(json(await save(`${text}# more\n`)), {
    status: 409,
    message: /^The store is out of reach/,
  })
})

/** A program that saves two texts over a file by turns, as long as it is let. */
const savesByTurns = (file: string, texts: readonly string[]) =>
  `import('${join(root, 'gateway/office/config/replace-file.ts')}').then(async ({ replaceFile }) => {
    const texts = ${JSON.stringify(texts)}.map((each) => each.repeat(20_000))
    process.stdout.write('ready')
    for (let i = 0; ; i++) await replaceFile(${JSON.stringify(file)}, texts[i % 2])
  }).catch((error) => { process.stdout.write(error.message); process.exitCode = 3 })`

t.test(
  'a kill, or a write that fails, leaves the old file or the new one, never half of one',
  async (t) => {
    const file = join(folderOf(t), 'gateway.yaml')
    const texts = ['# one\n', '# another one\n']
    const wholes = texts.map((each) => each.repeat(20_000))
    await writeFile(file, String(wholes[0]))
    for (let round = 0; round < 4; round++) {
      const child = spawn(process.execPath, ['-e', savesByTurns(file, texts)])
      await once(child.stdout, 'data')
      const { ino } = await stat(file)
      await until(async () => (await stat(file)).ino !== ino)
      child.kill('SIGKILL')
      await once(child, 'exit')
      t.ok(wholes.includes(readFileSync(file, 'utf8')), 'it is whole')
    }
    const before = readFileSync(file)
    const shell = 'ulimit -f 8; exec "$0" -e "$1"'
    const limited = spawn('/bin/sh', ['-c', shell, process.execPath, savesByTurns(file, texts)])
    let said = ''
    limited.stdout.on('data', (data) => (said += String(data)))
    t.strictSame(await once(limited, 'close'), [3, null])
    t.match(said, /can't be written: it is larger than this process may write/)
    t.ok(before.equals(readFileSync(file)))
    const old = new Date(Date.now() - 3_600_000)
    const leftovers = await besideOf(file)
    const leftover = join(dirname(file), '.gateway.yaml.save-0123456789ab')
    await writeFile(leftover, 'secret')
    await utimes(leftover, old, old)
    await replaceFile(file, '# new\n')
    t.strictSame(await besideOf(file), leftovers, 'an old leftover of a crash is removed')
    await symlink(join(dirname(file), 'nowhere'), leftover)
    await replaceFile(file, '# newer\n')
    t.equal(readFileSync(file, 'utf8'), '# newer\n', 'a link that leads nowhere is in no way')
  },
)
