import fc from 'fast-check'
import { createHash, createHmac } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { stripVTControlCharacters } from 'node:util'
import TypeBox from 'typebox'
import Value from 'typebox/value'
import t from 'tap'
import { checkerOf, isOf, Type as own } from '../../shared/schema.ts'
import { hmacBy } from '../../shared/hmac.ts'
import { sortedBy } from '../../shared/in-order.ts'
import { int64From } from '../../shared/int64.ts'
import { parseJsonObject } from '../../shared/json.ts'
import { loggable, loggerOptions, standardLog } from '../../shared/log.ts'
import { pretty } from '../../shared/pretty.ts'
import { progressBar } from '../../shared/progress.ts'
import { rawRefusal, Refusal, refusalFrom, statusByCode } from '../../shared/refusal.ts'
import { requestIdFrom } from '../../shared/request-id.ts'
import {
  bodyChecker,
  secretFault,
  secretWarning,
  signatureChecker,
  signer,
} from '../../shared/signature.ts'
import { seeded } from '../support/seeded.ts'

t.test('int64', (t) => {
  for (const text of [
    '0',
    '-1',
    '9007199254740993',
    '9223372036854775807',
    '-9223372036854775808',
  ]) {
    t.equal(int64From(text), BigInt(text), `${text} is an int64, digit for digit`)
  }
  for (const text of [
    '9223372036854775808',
    '-9223372036854775809',
    '5.0',
    '1e3',
    '05',
    '+5',
    ' 5',
  ]) {
    t.equal(int64From(text), undefined, `${text} is none`)
  }
  for (const text of ['', '-', '٥', '0x5', 'true', '9'.repeat(100_000)]) {
    t.equal(int64From(text), undefined, `${text.slice(0, 20)} is none`)
  }
  t.end()
})

t.test('JSON objects', (t) => {
  t.test('are what JSON.parse says, but for whole numbers, which are exact', (t) => {
    const exact = (value: unknown): unknown =>
      typeof value === 'number' && Number.isInteger(value) && int64From(String(value)) !== undefined
        ? BigInt(String(value))
        : value
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(3), (object, indent) => {
        const text = JSON.stringify(object, null, indent)
        const parsed = JSON.parse(text) as Record<string, unknown>
        const { members, source } = parseJsonObject(text)
        const names = Object.keys(parsed)
        return (
          names.length === source.size &&
          names.every((name) => {
            const [given, expected] = [members[name], exact(parsed[name])]
            const same = fc.stringify(given) === fc.stringify(expected)
            return (
              same &&
              fc.stringify(JSON.parse(source.get(name) ?? '')) === fc.stringify(parsed[name])
            )
          })
        )
      }),
      { numRuns: 500 },
    )
    t.end()
  })
  t.test('keep the digits that a number of JavaScript would lose', (t) => {
    const { members } = parseJsonObject(
      '{"a":9007199254740993,"b":[1],"c":{"a":2},"d":5.0,"e":"5"}',
    )
    t.equal(members['a'], 9007199254740993n)
    t.equal(members['d'], 5)
    t.equal(members['e'], '5')
    t.end()
  })
  t.test('say what is wrong with them', (t) => {
    t.throws(() => parseJsonObject('{"a":1,"a":2}'), { message: 'The body names "a" twice.' })
    t.throws(() => parseJsonObject('{"a":1,"\\u0061":2}'), { message: 'The body names "a" twice.' })
    t.throws(() => parseJsonObject('[1]'), { message: 'The body must be a JSON object.' })
    t.throws(() => parseJsonObject('{"a":}'), { message: 'The body is not valid JSON.' })
    t.end()
  })
  t.test('of hostile shapes end in no time and change no prototype', (t) => {
    const members = parseJsonObject('{"__proto__":{"name":"x"},"constructor":5}').members
    t.equal(members['name'], undefined)
    t.equal(Reflect.getPrototypeOf(members), Object.prototype)
    const deep = (levels: number) => `{"a":${'[{"b":'.repeat(levels)}1${'}]'.repeat(levels)}}`
    t.equal(parseJsonObject(deep(15)).source.get('a')?.length, 15 * 8 + 1)
    const tooDeep = { message: 'The body has more than 32 levels of objects and lists.' }
    t.throws(() => parseJsonObject(deep(16)), tooDeep)
    t.throws(() => parseJsonObject('{"a":'.repeat(100_000)), tooDeep)
    t.throws(() => parseJsonObject('['.repeat(33)), tooDeep)
    const wide = `{"a":[${'[],'.repeat(1_000)}[]],"b":"${'['.repeat(99)}\\"${'['.repeat(99)}"}`
    t.equal(parseJsonObject(wide).source.size, 2, 'brackets beside one another, or in a text')
    for (const cut of [
      '{"a',
      '{"a\\',
      '{"a":',
      '{"a":1',
      '{"a":1,',
      ':',
      '{:1}',
      ']}',
      '{"a":1}}',
    ]) {
      t.throws(() => parseJsonObject(cut), { message: 'The body is not valid JSON.' }, cut)
    }
    const escapes = `{"a":"${'\\n'.repeat(500_000)}"}`
    t.equal(String(parseJsonObject(escapes).members['a']).length, 500_000)
    t.equal(parseJsonObject(`{"a":${'9'.repeat(1_000_000)}}`).members['a'], Infinity)
    t.end()
  })
  t.end()
})

t.test('an HMAC is the one that Node makes', (t) => {
  for (const secret of ['', 's', 'é'.repeat(32), 'é'.repeat(33), 'x'.repeat(64), 'x'.repeat(65)]) {
    const hmac = hmacBy(secret)
    for (const text of ['', 'a\nb', 'ü\u0000😀\ud800', 'y'.repeat(20_000), 'a\nb']) {
      const expected = createHmac('sha256', secret).update(text).digest('hex')
      t.equal(hmac(text), expected, `${secret.length} and ${text.length} characters`)
    }
  }
  t.end()
})

t.test('signatures', (t) => {
  const request = {
    method: 'GET',
    target: '/v1/pets?a=1',
    callerId: 'k',
    plan: 'pro',
    requestId: 'r',
  }
  const now = 1_790_000_000_000
  const fault = (signature: string | undefined, at = now, changed = {}) =>
    signatureChecker('s3cret')({ ...request, ...changed }, signature, at)
  const sign = (secret: string): string => signer(secret)(request, now)

  t.match(sign('s3cret'), /^t=1790000000,v1=[0-9a-f]{64}$/)
  t.equal(fault(sign('s3cret')), undefined, 'a fresh one is right')
  t.equal(fault(sign('s3cret'), now + 60_000), undefined, '60 s old is fresh')
  t.match(fault(sign('s3cret'), now + 60_001), /out of date/)
  t.match(fault(sign('s3cret'), now - 60_001), /out of date/, 'nor from the future')
  t.match(fault(sign('other')), /wrong/, 'another secret')
  for (const changed of [{ method: 'PUT' }, { target: '/' }, { callerId: 'j' }, { plan: 'free' }]) {
    t.match(fault(sign('s3cret'), now, changed), /wrong/, JSON.stringify(changed))
  }
  t.equal(signatureChecker('new,s3cret')(request, sign('s3cret'), now), undefined, 'both are right')
  t.equal(fault(sign('s3cret,new')), undefined, 'the first one signs')
  const body = Buffer.from('{"name":"Rex"}')
  const whole = signer('s3cret')({ ...request, body }, now)
  // Written out rather than taken from the code: it is the contract with backends of others.
  const hmac = (text: string): string => createHmac('sha256', 's3cret').update(text).digest('hex')
  const v1 = hmac('1790000000\nGET\n/v1/pets?a=1\nk\npro\nr')
  const digest = createHash('sha256').update(body).digest('hex')
  t.equal(whole, `t=1790000000,v1=${v1},b=${hmac(`${v1}\n${digest}`)}`)
  t.equal(fault(whole), undefined)
  const bodyFault = bodyChecker('new,s3cret')
  t.equal(bodyFault(whole, body), undefined)
  t.match(bodyFault(whole, Buffer.from('{"name":"Tom"}')), /for another body/)
  t.match(bodyFault(whole, Buffer.alloc(0)), /for another body/)
  t.equal(bodyFault(sign('s3cret'), body), undefined, 'one without says nothing of a body')
  t.match(bodyFault(`${sign('s3cret')},b=${digest}`, body), /for another body/, 'nobody can add it')
  t.match(fault(`${whole},b=${digest}`), /malformed/)

  for (const empty of ['s3cret,', ',s3cret', 'a,,b', ',', ' ', 's3cret, ', '\t,s3cret']) {
    t.match(secretFault(empty), /has an empty part/, JSON.stringify(empty))
    t.throws(() => signer(empty), { message: /has an empty part/ }, JSON.stringify(empty))
    t.throws(() => signatureChecker(empty), { message: /has an empty part/ })
  }
  for (const sound of [undefined, '', 's3cret', 'new,s3cret'])
    t.equal(secretFault(sound), undefined)
  const [short, long] = ['fifteen letters', 'sixteen letters!']
  t.match(secretWarning(short), /fewer than 16 characters/)
  t.match(secretWarning(`${long},${short}`), /fewer than 16 characters/)
  t.notMatch(secretWarning(short), short, 'it is not told')
  for (const good of [undefined, '', long, `${long},${long}`])
    t.equal(secretWarning(good), undefined)
  t.match(fault(undefined), /missing/)
  t.match(fault('t=1,v1=00'), /malformed/)
  t.end()
})

t.test('refusals', (t) => {
  for (const [code, status] of Object.entries(statusByCode)) {
    const refusal = new Refusal(code as keyof typeof statusByCode, 'A sentence.')
    t.strictSame(JSON.parse(refusal.body), { code, message: 'A sentence.', status })
  }
  t.equal(refusalFrom(new Error('at /secret/path')).message, 'Something went wrong on our side.')
  t.equal(refusalFrom('thrown text').status, 500)
  t.equal(refusalFrom(Object.assign(new Error('x'), { statusCode: 422 })).status, 400)
  const refusal = new Refusal('headers_too_large', 'Too much.', { 'X-Extra': '1' })
  const [head = '', body = ''] = rawRefusal(refusal).split('\r\n\r\n')
  t.match(head, /^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
  t.match(head, `Content-Length: ${Buffer.byteLength(body)}`)
  t.match(head, 'X-Extra: 1')
  t.equal(body, refusal.body)
  t.end()
})

t.test('request ids', (t) => {
  t.equal(requestIdFrom('abc.DEF-1_2'), 'abc.DEF-1_2')
  t.equal(requestIdFrom('x'.repeat(128)).length, 128)
  for (const bad of ['', 'x'.repeat(129), 'a b', 'a\nb', 'é', undefined, ['a', 'b']]) {
    t.match(
      requestIdFrom(bad),
      /^[0-9a-f]{16}-[0-9a-z]+$/,
      `${String(bad).slice(0, 9)} gets a new one`,
    )
  }
  t.end()
})

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
  t.equal(loggable('/v1/pets/%20x?a=b'), '/v1/pets/%20x?a=b', 'all else stays as it is')
  t.equal(loggable(`/v1/${'a'.repeat(64)}`), `/v1/${'a'.repeat(64)}`)
  t.equal(loggable(`/v1/${'a/'.repeat(600)}`).length, 513, 'but no line is long')
  t.not(requestIdFrom(token), token, 'nor is it taken for an id')
  t.equal(requestIdFrom('tg_order-66'), 'tg_order-66')
  t.end()
})

t.test('schemas are those that TypeBox makes', (t) => {
  const made = (Type: typeof TypeBox | typeof own) => {
    const said = { expected: 'what is said' }
    const even = Type.Refine(Type.Integer({ minimum: 2, ...said }), (value) => value % 2 === 0)
    const small = Type.Refine(even, (value) => value < 9)
    const many = Type.Array(Type.String({ pattern: '^a' }), { minItems: 1 })
    const thing = Type.Object(
      {
        ...{ even, small, may: Type.Optional(small), refined: Type.Optional(even) },
        ...{ yes: Type.Boolean(), large: Type.BigInt({ minimum: 1n }), number: Type.Number() },
        word: Type.Enum(['one', 'two'], said),
        either: Type.Union([Type.Literal('x'), Type.Literal(5), Type.Null()], said),
        all: Type.Record(Type.String({ pattern: '^[a-z]$' }), many, { minProperties: 1 }),
        any: Type.Optional(Type.Record(Type.String(), Type.Boolean(), said)),
      },
      { additionalProperties: false, ...said },
    )
    return [thing, Type.Partial(thing), Type.Object({ may: Type.Optional(many) })]
  }
  const written = (schemas: unknown) =>
    JSON.stringify(schemas, (_name, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
  const [mine, theirs] = [made(own), made(TypeBox)]
  t.equal(written(mine), written(theirs))
  const sound = {
    ...{ even: 4, small: 4, yes: true, large: 1n, number: 0.5, word: 'one', either: null },
    all: { a: ['a'] },
  }
  for (const [change, isSound] of [
    [{}, true],
    [{ may: 8, refined: 10 }, true],
    [{ even: 5 }, false],
    [{ small: 10 }, false],
    [{ may: 7 }, false],
    [{ refined: 3 }, false],
    [{ large: 0n }, false],
    [{ large: 1 }, false],
    [{ either: 6 }, false],
    [{ word: 'three' }, false],
    [{ all: {} }, false],
    [{ all: { a: [] } }, false],
    [{ any: { x: 1 } }, false],
    [{ other: 1 }, false],
    [{ yes: undefined }, false],
  ] as const) {
    const value = { ...sound, ...change }
    const [schema, theirSchema] = [mine[0], theirs[0]]
    if (!schema || !theirSchema) throw new Error('there are three')
    const told = Object.keys(change).join()
    t.equal(isOf(schema, value), isSound, told)
    t.equal(checkerOf(schema)(value), isSound, told)
    t.equal(Value.Check(theirSchema, value), isSound, told)
  }
  t.end()
})

t.test('sorting bit by bit gives what sorting at once gives, while the loop runs', async (t) => {
  const random = seeded(3)
  for (const count of [0, 1, 2, 1_999, 2_000, 2_001, 10_007]) {
    for (const tail of [0, 1, 50, count]) {
      const items = Array.from({ length: count }, () => ({ name: String(random(1_000_000)) }))
      const order = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
      const head = items.slice(0, Math.max(0, count - tail)).sort(order)
      const given = [...head, ...items.slice(head.length)]
      const before = [...given]
      const names = (await sortedBy(given, ({ name }) => name)).map(({ name }) => name)
      const expected = items.map(({ name }) => name).sort()
      t.strictSame(names, expected, `${count} items, ${tail} of them in no order`)
      t.strictSame(given, before, 'and leaves the given ones')
    }
  }
  const growing = Array.from({ length: 5_000 }, () => ({ name: String(random(1_000_000)) }))
  const sorting = sortedBy(growing, ({ name }) => name)
  growing.push({ name: 'added meanwhile' })
  t.equal((await sorting).length, 5_000)
  const many = Array.from({ length: 100_000 }, () => ({ name: String(random(1_000_000)) }))
  let turns = 0
  const count = (): void => void (turns++, (timer = setImmediate(count)))
  let timer = setImmediate(count)
  await sortedBy(many, ({ name }) => name)
  clearImmediate(timer)
  t.ok(turns > 100, `the loop ran ${turns} times meanwhile`)
})
