import { createHmac } from 'node:crypto'
import t from 'tap'
import { callerText, callerValue } from '../../shared/caller-value.ts'
import { digestOf, digestVerdict } from '../../shared/content-digest.ts'
import { dictionaryIn, memberOf } from '../../shared/dictionary.ts'
import { hmacBy } from '../../shared/hmac.ts'
import { rawRefusal, Refusal, refusalFrom, statusByCode } from '../../shared/refusal.ts'
import { requestIdFrom } from '../../shared/request-id.ts'
import { secretFault, secretWarning, signatureChecker, signer } from '../../shared/signature.ts'

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
  const own = ['x-request-id', 'r', 'x-caller-id', 'k', 'x-caller-plan', 'pro']
  const now = 1_790_000_000_000
  const request = { method: 'GET', target: '/v1/pets?a=1', fields: own }
  const sent = (secret: string, more: readonly string[] = []) => {
    const fields = [...own, ...more]
    return recordOf([...fields, ...signer(secret)({ ...request, fields }, now)])
  }
  const check = (headers: Record<string, string>, at = now, changed = {}) => {
    const { method, target } = { ...request, ...changed }
    return signatureChecker('s3cret')({ method, target, headers }, at)
  }
  const names = ['x-request-id', 'x-caller-id', 'x-caller-plan']
  // Written out rather than taken from the code: it is the contract with backends of others.
  const input = `("@method" "@path" "@query" "x-request-id" "x-caller-id" "x-caller-plan");created=1790000000;keyid="1ec1c26b50d5";alg="hmac-sha256";tag="tollgate"`
  const base = `"@method": GET\n"@path": /v1/pets\n"@query": ?a=1\n"x-request-id": r\n"x-caller-id": k\n"x-caller-plan": pro\n"@signature-params": ${input}`
  const signature = createHmac('sha256', 's3cret').update(base).digest('base64')
  t.match(sent('s3cret'), {
    'signature-input': `tollgate=${input}`,
    signature: `tollgate=:${signature}:`,
  })

  t.strictSame(check(sent('s3cret')), names, 'a fresh one is right')
  t.strictSame(check(sent('s3cret'), now + 60_000), names, '60 s old is fresh')
  t.match(check(sent('s3cret'), now + 60_001), /out of date/)
  t.match(check(sent('s3cret'), now - 60_001), /out of date/, 'nor from the future')
  t.match(check(sent('other')), /wrong/, 'another secret')
  for (const changed of [{ method: 'PUT' }, { target: '/v1/pets?a=2' }, { target: '/v1/pets' }])
    t.match(check(sent('s3cret'), now, changed), /wrong/, JSON.stringify(changed))
  for (const name of names) {
    t.match(check({ ...sent('s3cret'), [name]: 'j' }), /wrong/, name)
    const rest = sent('s3cret')
    delete rest[name]
    t.match(check(rest), /malformed/, `without ${name}`)
  }
  for (const name of ['x-caller-account', 'x-caller-tenant', 'x_caller_id', 'x-caller'])
    t.match(check({ ...sent('s3cret'), [name]: 'zoo' }), /doesn’t cover x.caller/, name)
  t.strictSame(check({ ...sent('s3cret'), 'x-caller-account': '' }), names, 'an empty one is none')
  const account = ['x-caller-account', 'zoo']
  t.strictSame(check(sent('s3cret', account)), [...names, 'x-caller-account'])
  t.match(check({ ...sent('s3cret', account), 'x-caller-account': 'zoe' }), /wrong/)
  const received = { method: 'GET', target: '/v1/pets?a=1', headers: sent('s3cret') }
  t.strictSame(signatureChecker('new,s3cret')(received, now), names, 'both are right')
  t.strictSame(check(sent('s3cret,new')), names, 'the first one signs')
  t.match(check({}), /missing/)
  t.match(check({ ...sent('s3cret'), signature: 'x' }), /missing/)
  for (const changed of [
    input.replace('hmac-sha256', 'hmac-sha512'),
    input.replace('tag="tollgate"', 'tag="other"'),
    input.replace('"@query" ', ''),
    input.replace('"x-caller-id" ', ''),
    input.replace('"x-caller-id"', '"x-caller-id" "x-caller-id"'),
    input.replace('"@method" "@path"', '"@path" "@method"'),
    input.replace('created=1790000000;', ''),
  ]) {
    const signature = createHmac('sha256', 's3cret').update(base.replace(input, changed))
    const forged = { 'signature-input': `tollgate=${changed}` }
    const signed = { ...forged, signature: `tollgate=:${signature.digest('base64')}:` }
    t.match(check({ ...sent('s3cret'), ...signed }), /malformed/, changed)
  }

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
  t.end()
})

function recordOf(list: readonly string[]): Record<string, string> {
  return Object.fromEntries(list.flatMap((name, i) => (i % 2 ? [] : [[name, list[i + 1] ?? '']])))
}

t.test('an HMAC by the key of RFC 9421 is that of its example', (t) => {
  const key =
    'uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ=='
  const base = `"date": Tue, 20 Apr 2021 02:07:55 GMT
"@authority": example.com
"content-type": application/json
"@signature-params": ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"`
  const made = hmacBy(Buffer.from(key, 'base64'))(base, 'base64')
  t.equal(made, 'pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=')
  t.end()
})

t.test('a Content-Digest tells whether a body is its own', (t) => {
  const body = Buffer.from('{"hello": "world"}')
  // Of RFC 9530, B.1 and 2.
  const short = 'sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:'
  const long =
    'sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:'
  t.equal(digestOf(body), short)
  for (const right of [short, long, `${long}, ${short}`, `md5=:AAAA:,${short}`])
    t.equal(digestVerdict(right, body), 'right', right)
  for (const wrong of [
    '{',
    'sha-256',
    'sha-256="x"',
    `${short}, sha-512=:AAAA:`,
    `sha-256=:AAAA:`,
    `${short};x=1`,
  ])
    t.equal(digestVerdict(wrong, body), 'wrong', wrong)
  for (const none of ['', 'md5=:AAAA:', 'unixsum=:AA==:', 'constructor=:AA==:'])
    t.equal(digestVerdict(none, body), 'none', none)
  t.equal(digestVerdict(short, Buffer.from('{"hello": "World"}')), 'wrong')
  t.end()
})

t.test('dictionaries of structured fields are read as RFC 9651 writes them', (t) => {
  const readings: readonly (readonly [string, readonly string[] | undefined])[] = [
    ['', []],
    ['a', ['a']],
    ['a=1, b=-2.5;x;y="z\\"",  c', ['a=1', 'b=-2.5;x;y="z\\""', 'c']],
    [
      'sig1=("@method" "date";req);created=1;tag="x", b=:AA==:',
      ['sig1=("@method" "date";req);created=1;tag="x"', 'b=:AA==:'],
    ],
    ['a=?1,\tb=@99, c=%"f%c3%bc", d=text/html', ['a=?1', 'b=@99', 'c=%"f%c3%bc"', 'd=text/html']],
    ['a=()', ['a=()']],
    ...[
      'A=1',
      'a=',
      'a,',
      ', a',
      'a b',
      'a="',
      'a="ü"',
      'a=(1',
      'a=(1,2)',
      'keyId="x",algorithm="hs2019"',
      'a=1;',
      'a==1',
    ].map((text) => [text, undefined] as const),
  ]
  for (const [text, members] of readings)
    t.strictSame(
      dictionaryIn(text)?.map(({ text }) => text),
      members,
      JSON.stringify(text),
    )
  t.equal(memberOf('a=1, b=2, a=3', 'a'), '3', 'the last one counts')
  t.equal(memberOf('a=1', 'b'), undefined)
  t.end()
})

t.test('values about callers are plain, or percent-encoded', (t) => {
  for (const [text, value] of [
    ['acme', 'acme'],
    ['https://idp.example#a b', 'https://idp.example#a b'],
    ['50%', '50%25'],
    [' a', '%20a'],
    ['a ', 'a%20'],
    ['Zoë', 'Zo%C3%AB'],
    ['\ud800', '%EF%BF%BD'],
    ['a\r\nX-Caller-Id: b', 'a%0D%0AX-Caller-Id%3A%20b'],
    ['', ''],
  ] as const) {
    t.equal(callerValue(text), value)
    t.equal(callerText(value), text.toWellFormed())
  }
  t.equal(callerText('%'), undefined)
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
