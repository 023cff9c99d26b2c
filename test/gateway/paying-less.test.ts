import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { json, raw } from '../support/http.ts'
import { until } from '../support/until.ts'

/** What an honest request costs: an answer that tells its cost, the estimate of one that tells nothing, and an export. */
const [told, estimate, exported] = [73, 10, 5]
const body = JSON.stringify({ text: 'x'.repeat(100), usage: { total_tokens: told } })
const settings = {
  more: `plans:
  free: { perMinute: unlimited, perDay: 100000, operations: { exports: { paths: [/v1/exports], perDay: 90000 } } }`,
  routes: `[ { path: /v1/ask, upstream: animals, cost: { estimate: ${estimate}, from: { json: /usage/total_tokens } } },
    { path: /v1/exports, upstream: animals, cost: ${exported} }, { path: /v1/*, upstream: animals } ]`,
}

/** A backend that gives callers whatever part of an answer they ask for. */
function answer({ headers, method, url }: IncomingMessage, response: ServerResponse): void {
  response.setHeader('etag', '"1"').setHeader('last-modified', 'Sat, 28 Nov 2026 00:00:00 GMT')
  if (headers['if-none-match'] ?? headers['if-modified-since']) {
    return void response.writeHead(304).end()
  }
  if (headers.range) {
    return void response
      .writeHead(206, { 'content-range': `bytes 0-0/${body.length}`, 'content-type': 'x/y' })
      .end('{')
  }
  const type = headers.accept === 'text/plain' ? headers.accept : 'application/json'
  response.setHeader('content-type', type)
  if (method === 'HEAD') return void response.end()
  response.write(body.slice(0, 50))
  setTimeout(() => response.end(body.slice(50)), url?.includes('slow') ? 5_000 : 20)
}

const ask = (more: Record<string, string> = {}, path = '/v1/ask', method = 'GET') => ({
  ...{ method, path, more },
})
const exports = (more: Record<string, string> = {}, path = '/v1/exports') => ask(more, path, 'POST')

type Trick = ReturnType<typeof ask> & { least: number; leaves?: boolean; payload?: string }

/** Each way to pay less that a caller may try, and what it has to pay all the same. */
const tricks: Record<string, Trick> = {
  nothing: { ...ask(), least: told },
  'a part of the answer': { ...ask({ range: 'bytes=0-0' }), least: told },
  'a part of a version': { ...ask({ range: 'bytes=0-0', 'if-range': '"1"' }), least: told },
  'an answer that it has': { ...ask({ 'if-none-match': '"1"' }), least: told },
  'an old answer': {
    ...ask({ 'if-modified-since': 'Sat, 28 Nov 2026 00:00:00 GMT' }),
    least: told,
  },
  'odd spellings of these': { ...ask({ If_None_Match: '"1"', RANGE: 'bytes=0-0' }), least: told },
  compression: {
    ...ask({ 'accept-encoding': 'gzip', connection: 'accept-encoding' }),
    least: told,
  },
  'a cost of its own': { ...ask({ 'x-gateway-cost': '0', te: 'trailers' }), least: told },
  'an act': { ...ask({ 'x-gateway-act': 'minute' }), least: told },
  'an escape': { ...ask({}, '/v1/%61s%6b'), least: told },
  'a query': { ...ask({}, '/v1/ask?usage=/usage/total_tokens#x'), least: told },
  'no body': { ...ask({}, '/v1/ask', 'HEAD'), least: estimate },
  'another type': { ...ask({ accept: 'text/plain' }), least: estimate },
  'to leave before the end': { ...ask({}, '/v1/ask?slow'), leaves: true, least: estimate },
  'an export': { ...exports(), least: exported },
  'an escape in an operation': { ...exports({}, '/v1/%65xports'), least: exported },
  'another method in a header': {
    ...exports({ 'x-http-method-override': 'GET', 'x-original-url': '/v1/pets' }),
    least: exported,
  },
  'to leave an export': { ...exports({}, '/v1/exports?slow'), leaves: true, least: exported },
  'a body that is too large': {
    ...exports({ 'content-length': '2000000' }),
    payload: 'x',
    least: exported,
  },
  'a body that never comes': {
    ...exports({ 'content-length': '5' }),
    payload: '',
    leaves: true,
    least: exported,
  },
}

t.test('a caller that wants to pay less pays no less', async (t) => {
  const upstream = await startUpstream(t, answer)
  const { url, call, key } = await startGateway(t, { ...settings, upstream })
  for (const [name, { method, path, more, least, leaves, payload }] of Object.entries(tricks)) {
    const { headers } = await key()
    const used = async (): Promise<number> => {
      const { day } = json(await call('GET', '/v1/quota', undefined, headers))
      return 100_000 - (day as { remaining: number }).remaining
    }
    const lines = Object.entries({ ...headers, host: 'x', ...more }).map(
      ([header, value]) => `${header}: ${value}\r\n`,
    )
    const end = /^connection:/im.test(lines.join('')) ? '' : 'Connection: close\r\n'
    const bytes = `${method} ${path} HTTP/1.1\r\n${lines.join('')}${end}\r\n${payload ?? ''}`
    if (leaves) {
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname, () => socket.write(bytes))
      await until(async () => (await used()) > 0)
      socket.destroy()
    } else await raw(url, bytes, 300)
    await until(async () => (await used()) >= least, 2_000).catch(() => undefined)
    t.equal(await used(), least, name)
  }
  t.equal(upstream.seen.filter(({ headers }) => headers.range).length, 0)
})

t.test('what is refused before it costs anything never reaches the backend', async (t) => {
  const upstream = await startUpstream(t, answer)
  const { url, key } = await startGateway(t, { ...settings, upstream })
  const { headers } = await key()
  for (const [line, more] of [
    ['POST /v1//exports', ''],
    ['POST /v1/x/../exports', ''],
    ['POST /v1/exports%2f', ''],
    ['POST /v1/%2565xports', ''],
    ['POST /v1/exports', 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'],
    ['POST /v1/exports', 'Authorization: Bearer other\r\n'],
    ['POST /v1/exports', `X-Pad: ${'x'.repeat(17_000)}\r\n`],
  ] as const) {
    const lines = `Host: x\r\nAuthorization: ${headers.authorization}\r\nConnection: close\r\n`
    t.match(await raw(url, `${line} HTTP/1.1\r\n${lines}${more}\r\n`), /^HTTP\/1\.1 4\d\d /, line)
  }
  t.equal(upstream.seen.length, 0)
})
