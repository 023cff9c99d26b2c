import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { bytesOf, type Arrived } from '../support/arrived.ts'
import { changed, signedAnew } from '../support/forged.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { json, raw } from '../support/http.ts'
import { languages, startTenantBackend } from '../support/tenant-backends.ts'

const [current, next, other] = [
  'the-secret-of-today',
  'the-secret-of-tomorrow',
  'nobody-knows-this',
]
/** What the backends accept while the secret is being changed. */
const both = `${next},${current}`
const secrets = { accepted: [current, next], others: [other, both, ''] }

const tenants = [
  { account: 'acme', reference: 'cus_1', plan: 'pro', pets: ['Rex'] },
  { account: 'Zoë & Söhne', reference: '100%', plan: 'free', pets: ['Mia'] },
]
const kib64 = 'x'.repeat(65_536)

for (const language of languages) {
  t.test(`a backend in ${language} tells tenants apart by headers alone`, async (t) => {
    const url = await startTenantBackend(t, language, both)
    for (const secret of [current, next]) {
      const { call, key } = await startGateway(t, { upstream: { url, seen: [] }, secret })
      const tell = async (account?: string, settings = {}) => {
        const { headers, key: made } = await key({ ...(account ? { account } : {}), ...settings })
        const answers = [
          await call('GET', '/v1/pets?a=%41&b=%C3%BC&c', undefined, headers),
          await call('POST', "/v1/p%20t/{it's}", kib64, headers),
          await call('PUT', '/v1/pets', `${kib64}x`, headers),
          await call('DELETE', '/v1/pets', undefined, headers),
        ]
        for (const { status } of answers) t.equal(status, 200)
        const [first, ...others] = answers.map(json)
        for (const each of others) t.strictSame(each, first)
        t.match(first, { caller: { id: made.id, plan: made.plan } })
        return first
      }
      for (const { account, reference, plan, pets } of tenants)
        t.match(await tell(account, { reference, plan }), { caller: { account, reference }, pets })
      for (const account of ['a/ b%41', '% 100 %', '客户', '"\\,;', 'Acme', 'acme%00'])
        t.match(await tell(account), { caller: { account } }, account)
      const { caller, pets } = (await tell()) ?? {}
      t.notOk(Object.hasOwn(caller as object, 'account'), 'none')
      t.notOk((pets as string[] | null)?.length, 'nobody’s')
    }
    const { call, key } = await startGateway(t, { upstream: { url, seen: [] }, secret: other })
    const { headers } = await key({ account: 'acme' })
    t.equal((await call('GET', '/v1/pets', undefined, headers)).status, 502, 'another secret')
  })
}

/** Requests as a gateway sends them to its backend: of an account and a reference, and of neither. */
async function requestsOf(t: Test) {
  const arrived: Promise<Arrived>[] = []
  const upstream = await startUpstream(t, (request, response) => {
    const { method = '', url: target = '', rawHeaders } = request
    const headers = rawHeaders.flatMap((name, i) =>
      i % 2 ? [] : [[name, rawHeaders[i + 1] ?? ''] as const],
    )
    arrived.push(buffer(request).then((body) => ({ method, target, headers, body })))
    response.end('{}')
  })
  const { call, key } = await startGateway(t, { upstream, secret: current })
  const acme = await key({ account: 'acme', reference: 'cus_1' })
  const { headers } = await key()
  await call('GET', '/v1/pets?limit=2', undefined, acme.headers)
  await call('POST', '/v1/pets', kib64, acme.headers)
  await call('GET', '/v1/pets', undefined, headers)
  return Promise.all(arrived)
}

for (const language of languages) {
  t.test(`a backend in ${language} refuses what the gateway didn’t send`, async (t) => {
    const [url, requests] = [await startTenantBackend(t, language, both), await requestsOf(t)]
    for (const request of requests) {
      for (const [why, sent, isRefused = true] of [
        ...changed(request),
        ...signedAnew(request, secrets),
      ]) {
        const answer = await raw(url, bytesOf(sent))
        const told = `${request.method} ${request.target}: ${why}`
        t.equal(answer.slice(9, 12), isRefused ? '403' : '200', told)
        if (isRefused) t.match(answer, /^X-Gateway-Signature: refused\r$/im, told)
      }
    }
  })
}
