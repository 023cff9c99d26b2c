import { gzipSync } from 'node:zlib'
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { startGateway, startUpstream } from '../../support/gateway.ts'
import { json } from '../../support/http.ts'
import { until } from '../../support/until.ts'

const usage = (tokens: unknown) => JSON.stringify({ id: 'x', usage: { total_tokens: tokens } })
const asJson = (response: ServerResponse, type = 'application/json') =>
  response.setHeader('content-type', type)

/** Events as servers of models stream them: pieces of a text, and the usage in the last one but the end. */
function stream(response: ServerResponse, events: readonly string[], lineEnd = '\n'): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  const text = events.map((data) => `data: ${data}${lineEnd}${lineEnd}`).join('')
  // Cut anywhere, in the middle of lines.
  const pieces = text.match(/[^]{1,37}/g) ?? []
  const write = (): void => {
    const piece = pieces.shift()
    if (piece === undefined) return void response.end()
    response.write(piece, () => setImmediate(write))
  }
  write()
}

const delta = (content: string) =>
  JSON.stringify({ choices: [{ delta: { content } }], usage: null })

const events = (response: ServerResponse, text: string): void =>
  void response.setHeader('content-type', 'text/event-stream').end(text)

/** An event that has the name, and isn't JSON. */
const inVain = 'data: {"total_tokens"\n\n'

/** A usage beside lists in lists. */
const deep = (levels: number, tokens: number): string =>
  `{"x":${'['.repeat(levels)}${']'.repeat(levels)},${usage(tokens).slice(1)}`

const answers: Record<string, readonly [cost: number, (response: ServerResponse) => void]> = {
  whole: [37, (response) => void asJson(response).end(usage(37))],
  problem: [5, (response) => void asJson(response, 'application/problem+json').end(usage(5))],
  chunked: [
    41,
    (response) => {
      const text = `{"filler":"${'x'.repeat(200_000)}",${usage(41).slice(1)}`
      asJson(response).write(text.slice(0, 150_000))
      setTimeout(() => response.end(text.slice(150_000)), 20)
    },
  ],
  'twelve-point-zero': [
    12,
    (response) => void asJson(response).end('{"usage":{"total_tokens":12.0}}'),
  ],
  exponent: [100, (response) => void asJson(response).end('{"usage":{"total_tokens":1e2}}')],
  'two-types': [
    6,
    (response) =>
      void response.setHeader('content-type', ['text/html', 'application/json']).end(usage(6)),
  ],
  'byte-order-mark': [8, (response) => void asJson(response).end(`\uFEFF${usage(8)}`)],
  'too-large': [100, (response) => void asJson(response).end(usage(1e20))],
  zero: [0, (response) => void asJson(response).end(usage(0))],
  text: [10, (response) => void asJson(response).end(usage('37'))],
  half: [10, (response) => void asJson(response).end(usage(3.5))],
  without: [10, (response) => void asJson(response).end('{"usage":null}')],
  'no-json': [10, (response) => void asJson(response).end('{"usage":{"total_tokens":3')],
  html: [10, (response) => void asJson(response, 'text/html').end(usage(3))],
  latin: [
    10,
    (response) => void asJson(response, 'application/json; charset=latin1').end(usage(3)),
  ],
  header: [10, (response) => void response.setHeader('X-Gateway-Cost', '3').end('{}')],
  compressed: [
    10,
    (response) =>
      void asJson(response)
        .setHeader('content-encoding', 'gzip')
        .end(gzipSync(usage(3))),
  ],
  long: [
    10,
    (response) => void asJson(response).end(`{"x":"${'x'.repeat(1_048_576)}",${usage(3).slice(1)}`),
  ],
  events: [73, (response) => stream(response, [delta('a'), delta('b'), usage(73), '[DONE]'])],
  'several-usages': [9, (response) => stream(response, [usage(3), delta('b'), usage(9)], '\r\n')],
  'carriage-returns': [9, (response) => stream(response, [usage(3), delta('b'), usage(9)], '\r')],
  'mixed-line-ends': [
    6,
    (response) =>
      events(response, `data: {"usage":\rdata: {"total_tokens":6}}\r\n\rdata: ${usage('x')}\n`),
  ],
  'long-event': [8, (response) => stream(response, [usage(8), `"${'x'.repeat(1_100_000)}"`])],
  comments: [
    7,
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`\uFEFFdata: ${usage(3)}\n\n${': wait\n'.repeat(200_000)}data: ${usage(7)}\n\n`)
    },
  ],
  'no-space': [4, (response) => events(response, `data:${usage(4)}\r\n\r\n`)],
  'in-lines': [
    6,
    (response) => events(response, 'data: {"usage":\ndata:\ndata: {"total_tokens":6}}\n\n'),
  ],
  'other-fields': [
    7,
    (response) => events(response, `id: 1\ndata: ${usage(7)}\nretry: 9\n\ndatax: 1\n\n`),
  ],
  escaped: [
    11,
    (response) => void asJson(response).end('{"\\u0075sage":{"total\\u005ftokens":11}}'),
  ],
  'a-few-in-vain': [
    12,
    (response) => events(response, `${inVain.repeat(63)}data: ${usage(12)}\n\n`),
  ],
  'many-in-vain': [
    10,
    (response) => events(response, `${inVain.repeat(64)}data: ${usage(13)}\n\n`),
  ],
  deep: [14, (response) => void asJson(response).end(deep(127, 14))],
  'too-deep': [10, (response) => void asJson(response).end(deep(128, 15))],
  'no-usage': [10, (response) => stream(response, [delta('a'), '[DONE]'])],
}

t.test('a cost is read out of the body, which is passed on as it is', async (t) => {
  const asked: unknown[] = []
  const upstream = await startUpstream(t, (request, response) => {
    asked.push(request.headers['accept-encoding'])
    answers[request.url?.split('/').at(-1) ?? '']?.[1](response)
  })
  const { call, key, app } = await startGateway(t, {
    upstream,
    more: 'plans: { free: { perMinute: unlimited, perDay: 100000 } }',
    routes: `[ { path: /v1/*, upstream: animals, cost: { estimate: 10, from: { json: /usage/total_tokens } } } ]`,
  })
  const { headers } = await key()
  const left = async () =>
    (json(await call('GET', '/v1/quota', undefined, headers))['day'] as { remaining: number })
      .remaining
  let sum = 0
  for (const [path, [cost]] of Object.entries(answers)) {
    const sent = { ...headers, 'accept-encoding': 'gzip' }
    const { status, text } = await call('GET', `/v1/${path}`, undefined, sent)
    t.equal(status, 200)
    if (path === 'events') t.match(text, /total_tokens[^]*\[DONE\]\n\n$/)
    sum += cost
    await until(async () => (await left()) === 100_000 - sum)
    t.pass(path)
  }
  t.strictSame([...new Set(asked)], ['identity'])
  const outcomes = Object.fromEntries(
    [...app.front.meters.answerCosts].map(([name, , n]) => [name, n]),
  )
  t.match(outcomes, { malformed: 2, missing: 10, capped: 1 })
})

t.test('a pointer leads to what the JSON has, and to nothing of JavaScript', async (t) => {
  const upstream = await startUpstream(t, (_request, response) => {
    const odd = '"__proto__":{"n":3},"constructor":{"length":4},"of":{"length":5}'
    asJson(response).end(`{"choices":["a","b"],"text":"abc","own":{${odd}}}`)
  })
  const pointers = {
    ...{ '/choices/length': 10, '/text/length': 10, '/choices/constructor/length': 10 },
    ...{ '/constructor/length': 10, '/__proto__/n': 10, '/own/toString/length': 10 },
    ...{ '/own/__proto__/n': 3, '/own/constructor/length': 4, '/own/of/length': 5 },
  }
  const routes = Object.keys(pointers).map(
    (json, i) =>
      `{ path: /v1/${i}, upstream: animals, cost: { estimate: 10, from: { json: ${json} } } }`,
  )
  const { call, key } = await startGateway(t, {
    upstream,
    more: 'plans: { free: { perMinute: unlimited, perDay: 1000 } }',
    routes: `[ ${routes.join(', ')} ]`,
  })
  const { headers } = await key()
  let sum = 0
  for (const [i, [pointer, points]] of Object.entries(pointers).entries()) {
    await call('GET', `/v1/${i}`, undefined, headers)
    sum += points
    await until(async () => {
      const { day } = json(await call('GET', '/v1/quota', undefined, headers))
      return (day as { remaining: number }).remaining === 1_000 - sum
    })
    t.pass(pointer)
  }
})

t.test('a number is scaled, and rounded up', async (t) => {
  const upstream = await startUpstream(t, ({ url = '' }, response) => {
    asJson(response).end(`{"a/b":[{"~":${url.split('/').at(-1)}}]}`)
  })
  const { call, key } = await startGateway(t, {
    upstream,
    routes: `[ { path: /v1/*, upstream: animals, cost: { estimate: 10, from: { json: /a~1b/0/~0, times: 0.1 } } } ]`,
  })
  const { headers } = await key()
  let sum = 0
  for (const [tokens, points] of [
    [30, 3],
    [31, 4],
    [0, 0],
    [1, 1],
  ] as const) {
    await call('GET', `/v1/${tokens}`, undefined, headers)
    sum += points
    await until(async () => {
      const { day } = json(await call('GET', '/v1/quota', undefined, headers))
      return (day as { remaining: number }).remaining === 1_000 - sum
    })
    t.pass(String(tokens))
  }
})
