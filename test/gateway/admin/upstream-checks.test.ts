import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { startAdmin } from '../../support/admin.ts'
import { startUpstream, type Upstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { token } from '../../support/operator.ts'
import { until } from '../../support/until.ts'

const [support, read] = ['token-of-the-support-team', 'token-of-all-who-only-read']
const secret = 'a-secret'
const mebibyte = Buffer.alloc(1_048_576, 'x')

/** An admin address with two probes, and holders of each role. */
async function startWith(t: Test, upstream?: Upstream, more: object = {}) {
  const admin = await startAdmin(t, {
    ...(upstream && { upstream }),
    upstreamMore:
      'timeout: { response: 1s }, probes: [ { request: GET /v1/pets }, { request: GET /v1/x } ]',
    tokens: `alice:${token},bob/support:${support},eve/read:${read}`,
    ...more,
  })
  const check = (url: string, by = token) =>
    admin.operate(
      ...(['POST', '/admin/upstreams/check', { url }, { authorization: `Bearer ${by}` }] as const),
    )
  return { ...admin, check }
}

/** Writes a body without an end, as fast as it is read. Returns the function that tells how much went out. */
function endless() {
  let bytes = 0
  const pour = (response: ServerResponse): void => {
    const goOn = (): void => {
      let hasRoom = true
      while (hasRoom && !response.destroyed) {
        bytes += mebibyte.length
        hasRoom = response.write(mebibyte)
      }
    }
    response.on('drain', goOn)
    goOn()
  }
  return { pour, bytes: () => bytes }
}

t.test('64 KiB of an answer are read, and the rest is left', async (t) => {
  const { pour, bytes } = endless()
  const hostile = await startUpstream(t, (_request, response) => pour(response))
  const { check } = await startWith(t)
  const before = process.memoryUsage().rss
  t.match(json(await check(hostile.url)), {
    findings: [{}, { note: /^the body is not compared: it is over 64 KiB/ }, {}],
  })
  t.ok(bytes() < 64 * mebibyte.length, `${bytes()} bytes were taken`)
  t.ok(process.memoryUsage().rss - before < 128 * mebibyte.length, 'and not kept')
})

t.test('answers that hang, drip or break off end within the time limit', async (t) => {
  for (const [name, handle] of Object.entries<(response: ServerResponse) => void>({
    'no answer': () => undefined,
    'no end': (response) => response.write('{'),
    drops: (response) => {
      response.write('{')
      const timer = setInterval(() => response.write(' '), 50)
      response.once('close', () => clearInterval(timer))
    },
    'a broken body': (response) => {
      response.writeHead(200, { 'content-length': 10 }).write('{')
      setTimeout(() => response.destroy(), 50)
    },
    'a bomb': (response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(mebibyte)
    },
  })) {
    const hostile = await startUpstream(t, (_request, response) => handle(response))
    const { check } = await startWith(t)
    const answer = await check(hostile.url)
    t.equal(answer.status, 200, name)
    const { findings } = json(answer) as { findings: { breaks: string[]; note?: string }[] }
    const [, pets] = findings
    t.ok(pets?.note?.startsWith('the body') ?? pets?.breaks.includes('it does not answer'), name)
  }
})

t.test('one check runs at a time, by support and above, with a line in the audit', async (t) => {
  let hold = true
  const slow = await startUpstream(t, (_request, response) => {
    const timer = setInterval(() => {
      if (hold) return
      clearInterval(timer)
      response.end('{}')
    }, 5)
  })
  const { check, ask } = await startWith(t)
  t.match(json(await check(slow.url, read)), { status: 403, message: /needs the role support/ })
  const first = check(slow.url, support)
  await until(() => slow.seen.length > 0)
  t.match(json(await check(slow.url)), { code: 'conflict', message: /running already/ })
  hold = false
  t.equal((await first).status, 200)
  t.equal((await check(slow.url)).status, 200, 'after it, the next one')
  const line = { what: 'upstreams.check', subject: 'animals', after: { url: slow.url } }
  t.match(json(await ask('GET', '/admin/audit')), [
    { ...line, by: 'alice' },
    { ...line, by: 'bob' },
  ])
})

t.test('a signature goes to configured targets only, unless all is allowed', async (t) => {
  const signedIn = ({ seen }: Upstream): number =>
    seen.filter(({ headers }) => headers['signature'] !== undefined).length
  const strict = () =>
    startUpstream(t, (request, response) => {
      response.statusCode = request.headers['signature'] === undefined ? 403 : 200
      response.setHeader('content-type', 'application/json').end('{}')
    })
  const [present, foreign, open] = [await strict(), await strict(), await startUpstream(t)]
  const { check } = await startWith(t, present, { secret })
  t.match(json(await check(foreign.url, support)), {
    fit: false,
    findings: [
      {},
      { probe: 'GET /v1/pets, not signed', got: '403', breaks: [] },
      { breaks: [], compared: false, note: /^not compared: .* only the role all may send our/ },
      { breaks: [], compared: false },
    ],
  })
  t.equal(signedIn(foreign), 0)
  t.match(json(await check(present.url, support)), { fit: true })
  t.match(json(await check(foreign.url)), { fit: true })
  t.equal(signedIn(foreign), 2, 'the probes, once without a signature')
  const place = foreign.seen.findIndex(({ headers }) => headers['signature'] !== undefined)
  t.equal(place, 4, 'after three of the check before, and one of its own')
  t.match(json(await check(open.url)), { fit: false })
  t.equal(signedIn(open), 0, 'one that takes what is not signed gets no signature')
})
