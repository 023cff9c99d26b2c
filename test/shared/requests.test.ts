import { createHash, createHmac } from 'node:crypto'
import t from 'tap'
import { hmacBy } from '../../shared/hmac.ts'
import { rawRefusal, Refusal, refusalFrom, statusByCode } from '../../shared/refusal.ts'
import { requestIdFrom } from '../../shared/request-id.ts'
import {
  bodyChecker,
  secretFault,
  secretWarning,
  signatureChecker,
  signer,
} from '../../shared/signature.ts'

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
