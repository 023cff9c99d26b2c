import { readFileSync, readdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Pool } from 'undici'
import type { ComparisonView } from '../../gateway/mirror/comparison-view.ts'
import { differences, type SeenAnswer } from '../../gateway/mirror/differences.ts'
import { mostFailures } from '../../gateway/mirror/mirror.ts'
import { signatureChecker } from '../../shared/signature.ts'
import { runCommand } from '../support/command.ts'
import { startUpstream } from '../support/gateway.ts'
import { json } from '../support/http.ts'
import { start, token } from '../support/operator.ts'
import { startProcess } from '../support/process.ts'
import { heldQuick, usualWait } from '../support/promises.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { startTraffic } from '../support/traffic.ts'

const secret = 'a secret of sixteen characters'
const path = '/admin/upstreams/compare'
const allRequests = '100%'

/** A comparison that runs: its latest news, its end, and how to leave it. */
async function compare(t: Test, admin: string, settings: Record<string, string>) {
  const leaving = new AbortController()
  t.teardown(() => leaving.abort())
  const answer = await fetch(admin + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify(settings),
    signal: leaving.signal,
  })
  if (!answer.ok || !answer.body) throw new Error(`${answer.status} ${await answer.text()}`)
  const state: { latest?: ComparisonView } = {}
  const read = async (body: AsyncIterable<Uint8Array>): Promise<ComparisonView | undefined> => {
    const decoder = new TextDecoder()
    let text = ''
    for await (const bytes of body) {
      text += decoder.decode(bytes, { stream: true })
      const events = text.split('\n\n').slice(0, -1)
      const [, data] = /^data: (.*)$/m.exec(events.at(-1) ?? '') ?? []
      if (data !== undefined) state.latest = JSON.parse(data) as ComparisonView
    }
    return state.latest
  }
  const over = read(answer.body)
  over.catch(() => undefined)
  await until(() => state.latest !== undefined)
  const latest = (): ComparisonView => {
    if (!state.latest) throw new Error('there was an event')
    return state.latest
  }
  return { over, latest, leave: () => leaving.abort() }
}

const marker = 'nobody-may-see-this'
const big = Buffer.alloc(300_000, 'x')

/** A backend with pets, orders and toys; the would-be one lacks a member of orders. */
function backend(isWouldBe: boolean) {
  return ({ url = '', method }: IncomingMessage, response: ServerResponse): void => {
    response.setHeader('content-type', 'application/json; charset=utf-8')
    if (url.startsWith('/v1/pets/big')) return void response.end(big)
    if (url.startsWith('/v1/pets/moved')) {
      const place = `http://${response.req.headers.host}/v1/pets/${isWouldBe ? 12 : 7}`
      return void response.writeHead(302, { location: place }).end()
    }
    const order = isWouldBe ? { id: 2 } : { id: 1, name: marker }
    const owners = { [`${marker}@example.org`]: { age: 4 } }
    const text = JSON.stringify(url.startsWith('/v1/orders') ? [order] : { owners, at: new Date() })
    if (url.startsWith('/v1/toys')) {
      response.setHeader('content-encoding', 'gzip')
      return void response.end(gzipSync(text))
    }
    response.end(method === 'HEAD' ? undefined : text)
  }
}

const routes = `[
  { path: /v1/pets/*, upstream: animals }, { path: /v1/orders, upstream: animals },
  { path: /v1/toys, upstream: animals } ]`

t.test(
  'the route and the member that would break are named, and nothing is told twice',
  async (t) => {
    const present = await startUpstream(t, backend(false))
    const wouldBe = await startUpstream(t, backend(true))
    const { url, key, ask, file, gateway, admin, write, reload } = await start(t, {
      upstream: present.url,
      routes,
      environments: [{ GATEWAY_SECRET: secret }],
    })
    const headers = await key()
    const pool = new Pool(url, { connections: 8, pipelining: 1 })
    t.teardown(() => pool.close())
    const ended = runCommand(
      [
        'upstream',
        'compare',
        wouldBe.url,
        '--for',
        '10m',
        '--share',
        allRequests,
        '--config',
        file,
      ],
      { ADMIN_TOKEN: token },
    )
    await until(async () => (await ask('GET', '/admin/audit')).text.includes('upstreams.compare'))
    const get = (path: string, method: 'GET' | 'HEAD' | 'POST' = 'GET', more = {}, body?: string) =>
      pool.request({ method, path, headers: { ...headers, ...more }, body: body ?? null })
    let asked = 0
    for (let i = 0; i < 20; i++) {
      for (const path of ['/v1/pets/1?secret=1', '/v1/orders', '/v1/toys', '/v1/pets/moved']) {
        const id = `request-${asked++}`
        const answer = await get(path, 'GET', { 'x-request-id': id, 'if-none-match': '"a"' })
        await answer.body.dump()
      }
    }
    await (await get('/v1/pets/1', 'HEAD')).body.dump()
    t.ok(big.equals(Buffer.from(await (await get('/v1/pets/big')).body.arrayBuffer())))
    asked += 2
    for (let i = 0; i < 100; i++) {
      await (await get('/v1/pets/1', 'POST', {}, '{}')).body.dump()
      const refused = await get('/v1/pets/1', 'GET', {}, '{}').catch(() => undefined)
      await refused?.body.dump()
    }
    // Another configuration ends it.
    write((text) => text.replace('perDay: 1000000', 'perDay: 1000001'))
    await reload()
    const { code, out, stdout } = await ended
    t.equal(code, 1)
    t.match(
      stdout,
      `${wouldBe.url} would break 1 of 3 routes: 20 requests of 82 would be answered otherwise. It ended early: the configuration has changed.`,
    )
    t.match(stdout, /^\/v1\/orders +20 +0 .* \[\]\.name is missing \(20\)$/m)
    t.match(stdout, /^\/v1\/pets\/\* +42 +42 .* -$/m)
    t.match(stdout, /^\/v1\/toys +20 +20 .* -$/m)
    const examples = [
      ...stdout.matchAll(/^\/v1\/orders +\[\]\.name is missing +request-(\d+) +(\S+)$/gm),
    ]
    t.equal(examples.length, 5)

    t.test('a request to it is signed like any other, under an id of its own', (t) => {
      t.equal(wouldBe.seen.length, asked, 'no POST arrives, and no GET with a body')
      const fault = signatureChecker(secret)
      const [forwarded] = present.seen
      for (const { method = '', url: target = '', headers } of wouldBe.seen) {
        const {
          'x-request-id': requestId,
          'x-caller-id': callerId,
          'x-caller-plan': plan,
        } = headers
        const signed = { method, target, requestId, callerId, plan } as Parameters<typeof fault>[0]
        t.equal(fault(signed, String(headers['x-gateway-signature']), Date.now()), undefined)
        t.match(headers, {
          'x-gateway-mirror': '1',
          'x-caller-id': forwarded?.headers['x-caller-id'],
        })
        t.notMatch(String(requestId), /^request-/)
        t.strictSame([headers['authorization'], headers['if-none-match']], [undefined, undefined])
      }
      const ids = wouldBe.seen.map(({ headers }) => headers['x-request-id'])
      t.equal(new Set(ids).size, ids.length)
      for (const [, , mirrored] of examples) t.ok(ids.includes(mirrored))
      t.equal(present.seen.filter((each) => each.headers['x-gateway-mirror']).length, 0)
      t.end()
    })

    await t.test('it counts in no quota, usage or metric of targets', async (t) => {
      const all = asked + 200
      const { day } = json(await ask('GET', '/admin/quota/x')) as {
        day: { used: number }
      }
      t.equal(day.used, all)
      const { text } = await ask('GET', '/metrics')
      const answered = [...text.matchAll(/^tollgate_upstream_answers_total\{.*\} (\d+)$/gm)]
      t.equal(
        answered.reduce((sum, [, count]) => sum + Number(count), 0),
        present.seen.length,
      )
      t.notMatch(text, wouldBe.url)
    })

    t.test('no body is in a log, an answer, or the store', (t) => {
      for (const text of [out, gateway.output()]) t.notMatch(text, marker)
      for (const name of readdirSync(dirname(file))) {
        t.notMatch(readFileSync(join(dirname(file), name), 'latin1'), marker, name)
      }
      t.notMatch(out, 'secret=1')
      t.end()
    })

    t.match(json(await ask('GET', '/admin/audit?limit=2')), [
      {},
      {
        what: 'upstreams.compare',
        subject: 'animals',
        after: { url: wouldBe.url, share: allRequests },
      },
    ])
    const same = await compare(t, admin, { url: present.url, for: '3s', share: allRequests })
    for (let i = 0; i < 3; i++) await (await get('/v1/orders')).body.dump()
    t.match(await same.over, {
      fit: true,
      summary: `${present.url} can serve the upstream animals: 3 requests on 1 route, nothing breaks. Nothing was compared on 2 of 3 routes.`,
    })

    const command = startProcess(t, 'gateway/cli/main.ts', {
      args: ['upstream', 'compare', wouldBe.url, '--share', allRequests, '--config', file],
      env: { ADMIN_TOKEN: token },
    })
    const heard = wouldBe.seen.length + 20
    while (wouldBe.seen.length < heard) await (await get('/v1/orders')).body.dump()
    command.child.kill('SIGINT')
    t.match(await command.ended, { code: 1 })
    t.match(command.stdout(), /^ROUTE +COMPARED/m, 'Ctrl-C ends it with the table so far')
  },
)

t.test(
  'a backend that hangs costs callers nothing, and is left alone after 20 requests',
  async (t) => {
    const present = await startUpstream(t)
    const wouldBe = await startUpstream(t, () => undefined)
    const { admin, url, key } = await start(t, {
      upstream: present.url,
      upstreamMore: 'timeout: { connect: 5s, response: 1s }',
    })
    const traffic = startTraffic(t, url, await key(), { connections: 4 })
    await until(() => traffic.asked.length > 200)
    const fromMs = performance.now()
    const { over } = await compare(t, admin, { url: wouldBe.url, for: '1m', share: allRequests })
    const view = await over
    const [before, during] = [traffic.between(0, fromMs), traffic.between(fromMs)]
    t.match(view, {
      fit: false,
      ended: 'failures',
      routes: [{ breaks: [{ what: 'it does not answer in time' }] }],
    })
    t.match(
      view?.summary,
      /ended early: 20 requests in a row failed, the last one with: no answer began within 1000 ms/,
    )
    t.equal(view?.requests.compared, mostFailures)
    t.ok(view && view.requests.busy > 0, 'at most ten are asked at a time')
    t.ok(wouldBe.seen.length <= mostFailures + 10, `${wouldBe.seen.length} have arrived`)
    t.strictSame(new Set(during.map(({ status }) => status)), new Set(['200']))
    heldQuick(t, 'a hanging would-be backend costs callers nothing', during, {
      usual: usualWait(before),
      most: 1,
    })
  },
)

t.test('a share of the requests is drawn', async (t) => {
  const present = await startUpstream(t)
  const { admin, url, key, write, reload } = await start(t, { upstream: present.url })
  const wouldBe = await startUpstream(t)
  const headers = await key()
  const pool = new Pool(url, { connections: 16, pipelining: 1 })
  t.teardown(() => pool.close())
  const drawn = async (): Promise<number> => {
    const { over, latest } = await compare(t, admin, { url: wouldBe.url, for: '10m', share: '5%' })
    const soFar = wouldBe.seen.length
    let left = 10_000
    const ask = async (): Promise<void> => {
      while (left-- > 0)
        await (await pool.request({ method: 'GET', path: '/v1/x', headers })).body.dump()
    }
    await Promise.all(Array.from({ length: 16 }, ask))
    const asked = () => wouldBe.seen.length - soFar
    await until(() => asked() === latest().requests.compared)
    // Another configuration ends it.
    write((text) => text.replace('perDay: 1000000', `perDay: ${1_000_000 + asked()}`))
    await reload()
    const view = await over
    t.match(view, { ended: 'reload', fit: false, requests: { compared: asked() } })
    return asked() + (view?.requests.busy ?? 0)
  }
  const isNear = (count: number): boolean => Math.abs(count - 500) <= 60
  // Chance has it otherwise once in 170 times.
  const first = await drawn()
  t.ok(isNear(first) || isNear(await drawn()), `${first} of 10,000`)
})

t.test('all workers take part, and one comparison runs in a fleet at a time', async (t) => {
  const redis = await startRedis(t)
  const store = `redis: "${redis.url}"`
  const present = await startUpstream(t)
  const wouldBe = await startUpstream(t)
  const common = { upstream: present.url, store }
  const plans = 'plans: { p: { perMinute: unlimited, perDay: 1000000 } }'
  const crew = await start(t, { ...common, more: `name: crew\nworkers: 2\n${plans}` })
  const other = await start(t, { ...common, more: `name: other\n${plans}` })
  const settings = { url: wouldBe.url, for: '10m', share: allRequests }
  const first = await compare(t, crew.admin, settings)
  const isWhole = ({ fleet, gateways }: ComparisonView): boolean =>
    fleet === 3 && gateways.length === 2
  await until(() => isWhole(first.latest()))
  const headers = await crew.key()
  // Each connection may come to either worker.
  for (let i = 0; i < 40; i++) {
    const pool = new Pool(crew.url, { connections: 1 })
    await (await pool.request({ method: 'GET', path: '/v1/x', headers })).body.dump()
    await pool.close()
  }
  await until(() => first.latest().requests.compared === 40)
  t.match(first.latest(), { gateways: ['crew/1', 'crew/2'], requests: { same: 40, busy: 0 } })
  t.match(json(await other.ask('POST', path, settings)), {
    status: 409,
    message: /^One comparison at a time: admin compares http:\S+ at crew\/\d since /,
  })

  first.leave()
  await t.rejects(first.over)
  const free = async (): Promise<boolean> =>
    (await other.ask('POST', path, { ...settings, for: '1s' })).status === 200
  await until(free)
  const seen = wouldBe.seen.length
  const second = await compare(t, other.admin, settings)
  t.match(json(await crew.ask('POST', path, settings)), { status: 409 })
  other.gateway.child.kill('SIGKILL')
  await t.rejects(second.over)
  const inherits = async (): Promise<boolean> =>
    (await crew.ask('POST', path, { ...settings, for: '1s' })).status === 200
  await until(inherits)
  const third = await compare(t, crew.admin, settings)
  crew.gateway.child.kill('SIGTERM')
  t.match(await third.over, { ended: 'stop', fit: false, gateways: ['crew/1'] })
  t.equal(wouldBe.seen.length, seen, 'without requests none is made')
})

t.test('shapes are compared, never values, and no name that may be private is told', async (t) => {
  const type = 'application/json'
  const answer = (body: unknown, headers = {}, status = 200): SeenAnswer => ({
    ...{ status, headers: { 'content-type': type, ...headers } },
    body: Buffer.from(JSON.stringify(body)),
  })
  const moved = (location?: string) => answer({}, location === undefined ? {} : { location }, 302)
  const long: SeenAnswer = { ...answer({}), body: 'long' }
  const packed: SeenAnswer = {
    ...answer({}, { 'content-encoding': 'gzip' }),
    body: gzipSync('{"a":1}'),
  }
  const rows: readonly (readonly [SeenAnswer, SeenAnswer, string[]])[] = [
    [answer({ a: 1 }), answer({ a: 2, b: 3 }), []],
    [answer({ a: 1 }), answer({}, {}, 404), ['the status is 404, not 200']],
    [
      answer({}),
      answer({}, { 'content-type': 'text/html' }),
      ['the type is text/html, not application/json'],
    ],
    [
      answer({ a: { b: [{ c: 1 }] } }),
      answer({ a: { b: [{ c: '1' }] } }),
      ['.a.b[].c is a string, not a number'],
    ],
    [answer({ a: 1 }), { ...answer({}), body: Buffer.from('<p>') }, ['the body isn’t JSON']],
    [
      answer({ 'ann@example.org': { a: 1 } }),
      answer({ 'bob@example.org': {} }),
      ['.*.a is missing'],
    ],
    [answer({ f00d1234: 1 }), answer({ beef5678: 2 }), []],
    [answer({ a: 1 }), packed, []],
    [answer({ b: 1 }), packed, ['.b is missing']],
    [answer({ a: 1 }), long, []],
    [long, answer({ a: 1 }), []],
    [moved('/v1/pets/7?at=1'), moved('/v1/pets/12?at=2'), []],
    [moved('http://a.example:80/x'), moved('http://b.example:80/x'), ['Location leads elsewhere']],
    [moved('/v1/pets/7'), moved('/v1/toys/7'), ['Location leads elsewhere']],
    [moved('/v1/pets/7'), moved(), ['Location is missing']],
    [moved(), moved('/v1/pets/7'), ['there is a Location']],
  ]
  for (const [before, after, breaks] of rows) {
    t.strictSame(await differences(before, after), breaks, breaks.join() || 'the same')
  }
})
