import { EventEmitter } from 'node:events'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { loggable, loggerOptions, standardLog, withoutTokens } from '../../shared/log.ts'
import { pretty } from '../../shared/pretty.ts'
import { progressBar } from '../../shared/progress.ts'
import { requestIdFrom } from '../../shared/request-id.ts'

t.test('the log on standard output', async (t) => {
  const written: string[] = []
  const stdout = { write: (text: string) => written.push(text), isTTY: false }
  const fake = Object.assign(new EventEmitter(), { stdout })
  const log = standardLog(fake)
  const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve))

  log.write('one\n')
  log.write('two\n')
  t.strictSame(written, [], 'nothing is written at once')
  await nextTurn()
  t.strictSame(written.splice(0), ['one\ntwo\n'], 'what one turn has to say is one write')
  await nextTurn()
  t.strictSame(written, [], 'and it is said once')

  const line = `${'ü'.repeat(499)}\n`
  for (let i = 0; i < 9; i++) log.write(line)
  await nextTurn()
  const pieces = written.splice(0)
  t.equal(pieces.join(''), line.repeat(9), 'all lines come, in their order')
  for (const piece of pieces) {
    t.ok(Buffer.byteLength(piece) <= 4_096, 'a piece is as small as a pipe takes whole')
    t.ok(piece.endsWith('\n'), 'and ends where a line does')
  }

  const long = `${'x'.repeat(10_000)}\n`
  log.write('before\n')
  log.write(long)
  log.write('after\n')
  fake.emit('exit')
  t.equal(written.join(''), `before\n${long}after\n`, 'what waits at the end is written')
})

t.test('a line has its sentence before the stack of an error', (t) => {
  let written = ''
  const target = { write: (text: string) => (written = text), isTTY: false }
  const { stream } = loggerOptions('gateway', { level: 'info', target })
  const head = '"level":50,"time":1,"service":"gateway"'
  const error = '"err":{"message":"it says \\"msg\\"","stack":"Error\\n    at x"},"msg2":"y"'
  stream.write(`{${head},${error},"msg":"the \\"store\\" is away"}\n`)
  t.equal(
    written,
    `{"level":50,"time":1,"msg":"the \\"store\\" is away","service":"gateway",${error}}\n`,
  )
  for (const line of [`{${head},"msg":"without"}\n`, `{${head},"err":{"stack":"s"}}\n`]) {
    stream.write(line)
    t.equal(written, line)
  }
  t.end()
})

t.test('what people see', (t) => {
  const plain = (line: object) => stripVTControlCharacters(pretty(JSON.stringify(line)))
  const answered = {
    ...{ level: 30, time: 62_846_280, service: 'gateway', reqId: 'order-66', trace: 'abc' },
    ...{ method: 'GET', path: '/v1/pets', status: 200, ms: 1.7, key: 'Fxgg0a1b2c3d' },
    ...{ plan: 'business', route: '/v1/*', decision: 'admitted', ownMs: 0.2, msg: 'answered' },
  }
  t.equal(
    plain(answered),
    '17:27:26 200 GET /v1/pets 1.7 ms business Fxgg0a1b2c3d (order-66)\n',
    'a request is one short line',
  )
  const made = { ...answered, reqId: '0123456789abcdef-1x' }
  t.equal(plain(made), '17:27:26 200 GET /v1/pets 1.7 ms business Fxgg0a1b2c3d\n')
  t.match(plain({ ...made, status: 502 }), /\(0123456789abcdef-1x\)\n$/, 'where it is looked for')
  const refused = { ...made, status: 429, decision: 'rate_limit_exceeded' }
  t.match(plain(refused), / 429 GET .* Fxgg0a1b2c3d rate_limit_exceeded\n$/)
  process.env['FORCE_COLOR'] = '1'
  t.match(pretty(JSON.stringify(refused)), '\u001b[33mrate_limit_exceeded', 'in colour')
  delete process.env['FORCE_COLOR']
  const stranger = { ...refused, key: undefined, plan: undefined, decision: 'missing_api_key' }
  t.match(plain({ ...stranger, status: 401 }), / 401 GET \/v1\/pets 1\.7 ms missing_api_key\n$/)
  t.match(
    plain({ ...made, status: 499, msg: 'left before the answer ended' }),
    / 499 GET .* "left before the answer ended"\n$/,
  )

  const entry = { level: 30, time: 0, service: 'gateway' }
  t.equal(
    plain({ ...entry, hash: '5299f4425792', by: 'the file', msg: 'changed' }),
    '00:00:00 info  changed hash=5299f4425792 by="the file"\n',
  )
  t.match(plain({ ...entry, service: 'backend', msg: 'up' }), 'info  up service=backend\n')
  const mistakes = ['a.yaml:1:2: x must be y', 'a.yaml:3:4: z']
  t.equal(
    plain({ ...entry, level: 50, mistakes, msg: 'refused' }),
    '00:00:00 error refused\n  a.yaml:1:2: x must be y\n  a.yaml:3:4: z\n',
  )
  const change = { audit: 'keys.create', at: 'x', before: null, after: { id: 'k' }, by: 'me' }
  t.equal(
    plain({ ...entry, ...change, msg: 'changed' }),
    '00:00:00 info  changed audit=keys.create by=me\n',
  )
  t.notMatch(plain({ ...entry, msg: 'a\u001b[2J', x: '\u202e' }), /\u001b|\u202e/)
  t.ok(plain({ ...entry, msg: 'm', x: { y: 'z'.repeat(500) } }).length < 100)

  const failed = { ...entry, level: 50, service: 'backend', msg: 'failed', status: 500 }
  const line = plain({ ...failed, err: { stack: 'Error: x\n at y' } })
  t.equal(line, '00:00:00 error failed service=backend status=500\n  Error: x\n   at y\n')
  const code = 'ECONNREFUSED'
  const err = { message: 'down', stack: 'TypeError: down\n at z', code, cause: { message: 'why' } }
  t.match(plain({ ...failed, err }), /status=500\n {2}down\n {2}why\n$/, 'without a stack')

  const lines: string[] = []
  const target = { write: (text: string) => lines.push(text), isTTY: true }
  loggerOptions('gateway', { level: 'info', target }).stream.write(
    '{"level":30,"time":0,"service":"gateway","msg":"up"}\n',
  )
  loggerOptions('gateway', { level: 'info', target: { write: target.write } }).stream.write(
    '{"level":30}\n',
  )
  t.equal(
    stripVTControlCharacters(lines[0] ?? ''),
    '00:00:00 info  up\n',
    'a terminal: short lines',
  )
  t.equal(lines[1], '{"level":30}\n', 'anything else gets JSON')

  const bar: string[] = []
  const draw = progressBar({ write: (text) => bar.push(text), isTTY: true }, 'animals', 200)
  for (let done = 0; done <= 200; done++) draw(done)
  t.equal(bar.length, 101, 'a bar is drawn once a percent')
  t.match(bar.at(-1), /100% 200 of 200\n$/)
  const file: string[] = []
  const tell = progressBar({ write: (text) => file.push(text) }, 'animals', 2)
  tell(1)
  tell(2)
  t.strictSame(file, ['animals: 2 of 2\n'], 'a file gets one line at the end')

  let nowMs = 0
  const written: string[] = []
  const into = (isTTY: boolean) => ({ write: (text: string) => written.push(text), isTTY })
  const count = progressBar(into(false), 'keys', 3_000, () => nowMs)
  for (; nowMs <= 25_000; nowMs += 1_000) count(nowMs / 10)
  const [some, more] = ['keys: 1,000 of 3,000\n', 'keys: 2,000 of 3,000\n']
  t.strictSame(written.splice(0), [some, more], 'and one every ten seconds before')
  const unbounded = progressBar(into(true), 'quotas', undefined, () => nowMs)
  for (let done = 1; done <= 3; done++, nowMs += 60) unbounded(done)
  t.strictSame(written, ['\rquotas 1', '\rquotas 3'], 'where nobody knows the total there is none')
  t.end()
})

t.test('a token in a path is not logged, however it is spelled', (t) => {
  const id = 'A'.repeat(12)
  const secret = `${'s3cr3T'.repeat(6)}xy`
  const token = `tg_${id}_${secret}`
  for (const path of [
    `/v1/${token}`,
    `//%74g_${id}_${secret}`,
    `/v1/%74%67%5f${id}%5F${secret}`,
    `/v1/tg_${id}/${secret}`,
    `/v1/${secret}`,
    `/v1/tg_${id}_${secret.slice(0, 20)}`,
    `/v1/${[...token].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('')}`,
  ]) {
    t.notMatch(loggable(path), secret.slice(0, 20), path)
  }
  for (const header of [
    ...['{"alg":"ES256"}', '{ "typ":"JWT", "alg":"none"}', '{\n"alg":"RS256"}'],
    ...[' {"alg":"ES256"}', '\n {"typ":"JWT","alg":"ES256"}', '\t\r\n{"alg":"ES256"}'],
  ]) {
    const [head, claims] = [header, '{"sub":"canary"}'].map((part) =>
      Buffer.from(part).toString('base64url'),
    )
    const form = `${head}.${claims}.s1gnature`
    for (const path of [
      ...[`/v1/${form}`, `/v1/x${head}/${head}%2E${claims}%2e`],
      ...['x', '7x', 'bearer_', 'x-y', 'file.', 'JhbGci.'].map((before) => `/v1/${before}${form}`),
      `/v1/${form.replaceAll('.', '%252E')}`,
    ]) {
      t.notMatch(loggable(path), claims, path)
    }
    t.notMatch(withoutTokens(`"path":"/v1/${head}.${claims}.s1gnature"`), claims)
    t.not(requestIdFrom(`${head}.${claims}.x`), `${head}.${claims}.x`)
  }
  const plain = ['eyes.of.cats', 'news.of.today', `eyJhIjoxfQ.eyJ9.x`].map((name) => `/v1/${name}`)
  for (const path of plain) t.equal(loggable(path), path)
  t.equal(loggable('/v1/pets/%20x?a=b'), '/v1/pets/%20x?a=b', 'all else stays as it is')
  t.equal(loggable(`/v1/${'a'.repeat(64)}`), `/v1/${'a'.repeat(64)}`)
  t.equal(loggable(`/v1/${'a/'.repeat(600)}`).length, 513, 'but no line is long')
  for (let before = 900; before < 1_100; before++) {
    // Much of what stands before it isn't shown, so that its place in the line is an early one.
    const path = `/%${'25'.repeat(before / 2)}41/${secret}/x`
    t.notMatch(loggable(path), secret.slice(0, 10), String(before))
  }
  const long = `${Buffer.from('{"alg":"ES256"}').toString('base64url')}.${'canary'.repeat(300)}.x`
  for (const before of [0, 400, 500]) {
    const line = loggable(`/${'a/'.repeat(before / 2)}${long}`)
    t.notMatch(line, 'canary', 'a JWT that ends beyond what is read')
  }
  t.not(requestIdFrom(token), token, 'nor is it taken for an id')
  t.equal(requestIdFrom('tg_order-66'), 'tg_order-66')
  t.end()
})
