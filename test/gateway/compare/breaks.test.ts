import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { Pool } from 'undici'
import { differences, type SeenAnswer } from '../../../gateway/office/compare/differences.ts'
import { signatureChecker } from '../../../shared/signature.ts'
import { runCommand } from '../../support/command.ts'
import { allRequests, compare } from '../../support/comparison.ts'
import { startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { start, token } from '../../support/operator.ts'
import { startProcess } from '../../support/process.ts'
import { until } from '../../support/until.ts'

const secret = 'a secret of sixteen characters'

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
      for (const path of [
        '/v1/pets/1?secret=1',
        '/v1/orders?secret=1',
        '/v1/toys',
        '/v1/pets/moved',
      ]) {
        const id = `request-${asked++}`
        const answer = await get(path, 'GET', { 'x-request-id': id, 'if-none-match': '"a"' })
        await answer.body.dump()
      }
    }
    await (await get('/v1/pets/1', 'HEAD')).body.dump()
    t.ok(big.equals(Buffer.from(await (await get('/v1/pets/big')).body.arrayBuffer())))
    asked += 2
    const unread = 20
    for (let i = 0; i < unread; i++) {
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
      ...stdout.matchAll(
        /^\/v1\/orders +\[\]\.name is missing +GET \/v1\/orders +request-(\d+) +(\S+)$/gm,
      ),
    ]
    t.equal(examples.length, 5)

    t.test('a request to it is signed like any other, under an id of its own', (t) => {
      t.equal(wouldBe.seen.length, asked, 'no POST arrives, and no GET with a body')
      const fault = signatureChecker(secret)
      const [forwarded] = present.seen
      for (const { method = '', url: target = '', headers } of wouldBe.seen) {
        const { 'x-request-id': requestId } = headers
        t.type(fault({ method, target, headers }, Date.now()), Array)
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
      const all = asked + 2 * unread
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

    const command = startProcess(t, 'gateway/office/cli/main.ts', {
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
