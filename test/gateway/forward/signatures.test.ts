import type { IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { verifySignature } from '../../../gateway/index.ts'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { raw } from '../../support/http.ts'

const secret = 'a-secret-of-gateway-and-backend'

/** A gateway with a caller of an account, and what its backend has got last. */
async function startSigned(t: Test, isSigned: boolean) {
  const got: Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'rawHeaders'>[] = []
  const upstream = await startUpstream(t, (request, response) => {
    got.push(request)
    response.end('{}')
  })
  const gateway = await startGateway(t, { upstream, ...(isSigned ? { secret } : {}) })
  const { key, token } = await gateway.key({ account: 'acme', limits: { perMinute: 100_000 } })
  const head = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n`
  /** Sends lines of headers; gives the answer's status and what arrives of them. */
  const send = async (...lines: string[]) => {
    const answer = await raw(
      gateway.url,
      `${head}${lines.map((line) => `${line}\r\n`).join('')}\r\n`,
    )
    const { method = '', url: target = '', headers = {}, rawHeaders = [] } = got.pop() ?? {}
    const names = rawHeaders.filter((_each, i) => i % 2 === 0).map((name) => name.toLowerCase())
    const caller = isSigned ? verifySignature({ method, target, headers, secret }) : undefined
    return { status: answer.slice(9, 12), headers, names, caller }
  }
  return { gateway, key, send }
}

const about = ['Id', 'Plan', 'Account', 'Reference', 'Name', 'Scopes', 'Key', 'Tenant', 'Id-2', '']
const spellings = [
  'X-Caller-',
  'x-caller-',
  'X_Caller_',
  'x_caller-',
  'X-CALLER_',
  'X.Caller.',
  'X--Caller-',
]
const ours = ['x-caller-id', 'x-caller-plan', 'x-caller-account']

for (const isSigned of [true, false]) {
  const how = isSigned ? 'signed' : 'not signed'
  t.test(`no header about the caller is a caller’s own: ${how}`, async (t) => {
    const { key, send } = await startSigned(t, isSigned)
    for (const spelling of spellings) {
      for (const what of about) {
        const name = `${spelling}${what}`
        const { status, names, headers, caller } = await send(`${name}: zoo`)
        t.equal(status, '200', name)
        const arrived = names.filter((each) => /caller/.test(each))
        t.strictSame(arrived.sort(), [...ours].sort(), name)
        const { id, plan } = key
        t.match(headers, { 'x-caller-id': id, 'x-caller-plan': plan, 'x-caller-account': 'acme' })
        if (isSigned) t.match(caller, { id, plan, account: 'acme', claims: {} })
      }
    }
  })
}

const [input, signature] = ['("@method");created=1;keyid="k"', ':AAAA:']

t.test('a caller’s own signatures go on, but for those that could be ours', async (t) => {
  const { gateway, key, send } = await startSigned(t, true)
  const own = async (...lines: string[]) => {
    const { status, headers, caller } = await send(...lines)
    t.equal(status, '200')
    t.match(caller, { id: key.id, account: 'acme' }, lines.join())
    const before = (field: unknown) => String(field).replace(/(?:, )?tollgate=[^]*$/, '')
    return [before(headers['signature-input']), before(headers['signature'])]
  }
  const both = (one: string, other: string) => [`Signature-Input: ${one}`, `Signature: ${other}`]
  t.strictSame(await own(...both(`sig1=${input}`, `sig1=${signature}`)), [
    `sig1=${input}`,
    `sig1=${signature}`,
  ])
  const two = await own(...both(`a=${input},  b=${input}`, `a=${signature},b=${signature}`))
  t.strictSame(two, [`a=${input},  b=${input}`, `a=${signature},b=${signature}`], 'byte for byte')
  for (const empty of ['Signature:', 'Signature-Input: \t', 'Signature:\r\nSignature-Input:'])
    t.strictSame(await own(empty), ['', ''], 'an empty one spoils none of the gateway’s')
  const withheld = gateway.app.front.meters
  t.equal(withheld.signaturesWithheld, 0)
  let count = 0
  for (const [lines, left] of [
    [both(`tollgate=${input}`, `tollgate=${signature}`), ['', '']],
    [
      both(`a=${input}, tollgate=${input}`, `tollgate=${signature}, a=${signature}`),
      [`a=${input}`, `a=${signature}`],
    ],
    [
      both(`a=${input};tag="tollgate", b=${input}`, `a=${signature}, b=${signature}`),
      [`b=${input}`, `b=${signature}`],
    ],
    [both(`a=${input}; tag="tollgate"`, `a=${signature}`), ['', '']],
    [both(`a=${input}`, `a=${signature};tag="tollgate"`), ['', '']],
    [['Signature: keyId="a",algorithm="hs2019",signature="x"'], ['', '']],
    [both('a=(', `a=${signature}`), ['', '']],
    [both(`a=${input}`, 'a=(('), ['', '']],
    [
      [`Signature-Input: a=${input}`, `Signature-Input: tollgate=${input}`],
      [`a=${input}`, ''],
    ],
    [[`Signature: tollgate=${signature}`], ['', '']],
  ] as const) {
    t.strictSame(await own(...lines), left, lines.join())
    t.equal(withheld.signaturesWithheld, ++count, lines.join())
  }
  for (const name of [
    'Signature_Input',
    'Signature.Input',
    'SIGNATURE_',
    '_Signature',
    'Content_Digest',
    'content.digest',
  ]) {
    const { names, caller } = await send(`${name}: tollgate=${signature}`)
    t.notOk(names.includes(name.toLowerCase()), name)
    t.ok(caller)
  }
})

t.test('without a secret a caller’s signatures are nobody’s business', async (t) => {
  const { send } = await startSigned(t, false)
  const lines = ['signature-input', 'signature'].map((name) => `${name}: tollgate=("@path")`)
  const { headers, names } = await send(...lines, 'Content-Digest: x')
  t.match(headers, { 'signature-input': 'tollgate=("@path")', signature: 'tollgate=("@path")' })
  t.match(headers, { 'content-digest': 'x' })
  t.notOk((await send('Signature_Input: x')).names.includes('signature_input'))
  t.equal(names.filter((name) => name === 'signature').length, 1)
})

t.test('a caller’s Content-Digest is checked of a body that came whole', async (t) => {
  const { gateway } = await startSigned(t, true)
  const { headers } = await gateway.key()
  const sum = 'sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:'
  const send = async (digest: string) =>
    gateway.call('POST', '/v1/pets', 'hello', {
      ...headers,
      'content-type': 'text/plain',
      'content-digest': digest,
    })
  t.equal((await send(sum)).status, 200)
  t.equal((await send('unixsum=:AA==:')).status, 200)
  t.equal((await send('constructor=:AA==:')).status, 200, 'a name that every object has')
  for (const wrong of [sum.replace('L', 'M'), 'sha-256=x', '{', `${sum}, sha-512=:AAAA:`])
    t.match(
      await send(wrong),
      { status: 400, text: /Content-Digest header doesn’t fit the body/ },
      wrong,
    )
})
