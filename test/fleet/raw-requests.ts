/** A request as bytes, and how many requests a backend may at most hear of because of it. */
export type RawRequest = Readonly<{ name: string; bytes: string; atMost: number }>

const host = 'Host: x.example\r\n'
const close = 'Connection: close\r\n'
const chunks = '5\r\nhello\r\n0\r\n\r\n'

/** Requests that proxies and backends have been known to read in different ways, and honest ones. */
export function rawRequests(auth: string): readonly RawRequest[] {
  const made: RawRequest[] = []
  const add = (name: string, bytes: string, atMost = 1): void => {
    made.push({ name, bytes, atMost })
  }
  const get = (name: string, target: string): void =>
    add(`${name}: ${target.slice(0, 60)}`, `GET ${target} HTTP/1.1\r\n${host}${auth}${close}\r\n`)
  const withHeaders = (name: string, lines: string): void =>
    add(name, `GET /v1/h HTTP/1.1\r\n${lines}${auth}${close}\r\n`)
  const post = (name: string, lines: string, body = chunks): void =>
    add(name, `POST /v1/p HTTP/1.1\r\n${host}${auth}${close}${lines}\r\n${body}`)

  for (const target of honestTargets) get('a path', target)
  for (const target of oddTargets) get('an odd path', target)
  for (const method of methods) {
    add(`the method ${method}`, `${method} /v1/m HTTP/1.1\r\n${host}${auth}${close}\r\n`)
  }
  for (const line of requestLines) add(`the line ${line}`, `${line}\r\n${host}${auth}${close}\r\n`)
  for (const value of hosts) withHeaders(`Host:${value}`, `Host:${value}\r\n`)
  withHeaders('no Host', '')
  withHeaders('two Hosts', host + host)
  withHeaders('two different Hosts', `${host}Host: y.example\r\n`)
  for (const line of headerLines) {
    withHeaders(`the header ${JSON.stringify(line).slice(0, 60)}`, `${host}${line}\r\n`)
  }
  for (const value of lengths)
    post(`Content-Length:${value}`, `Content-Length:${value}\r\n`, 'hello')
  for (const value of encodings) {
    post(`Transfer-Encoding:${JSON.stringify(value)}`, `Transfer-Encoding:${value}\r\n`)
  }
  for (const name of encodingNames) post(`${JSON.stringify(name)}: chunked`, `${name}: chunked\r\n`)
  for (const [name, lines, body] of bothLengths) post(name, lines, body)
  for (const body of chunkBodies) {
    post(`the chunks ${JSON.stringify(body).slice(0, 50)}`, 'Transfer-Encoding: chunked\r\n', body)
  }
  const inner = `GET /v1/smuggled HTTP/1.1\r\n${host}${auth}${close}\r\n`
  const open = `${host}${auth}`
  add('two requests in a row', `GET /v1/1 HTTP/1.1\r\n${open}\r\n${inner}`, 2)
  add(
    'one request in the body of another',
    `POST /v1/1 HTTP/1.1\r\n${open}${close}Content-Length: ${inner.length}\r\n\r\n${inner}`,
  )
  add(
    'one in the body of a GET',
    `GET /v1/1 HTTP/1.1\r\n${open}${close}Content-Length: ${inner.length}\r\n\r\n${inner}`,
  )
  add(
    'one after the last chunk',
    `POST /v1/1 HTTP/1.1\r\n${open}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    2,
  )
  add(
    'a length and chunks, one inside (CL.TE)',
    `POST /v1/1 HTTP/1.1\r\n${open}Content-Length: ${inner.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
  )
  add(
    'a length and chunks, one inside (TE.CL)',
    `POST /v1/1 HTTP/1.1\r\n${open}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`,
  )
  add(
    'an upgrade to h2c, one behind',
    `GET /v1/1 HTTP/1.1\r\n${open}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n${inner}`,
    2,
  )
  add(
    'a WebSocket behind a request',
    `GET /v1/1 HTTP/1.1\r\n${open}\r\nGET /v1/2 HTTP/1.1\r\n${open}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    2,
  )
  add(
    'CONNECT behind a request',
    `GET /v1/1 HTTP/1.1\r\n${open}\r\nCONNECT x:1 HTTP/1.1\r\n${open}\r\n`,
  )
  add('CONNECT, one behind', `CONNECT /v1/1 HTTP/1.1\r\n${open}\r\n${inner}`)
  add('one behind a refusal', `GET /v1/%00 HTTP/1.1\r\n${open}\r\n${inner}`)
  add(
    'one behind an expectation',
    `POST /v1/1 HTTP/1.1\r\n${open}Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello${inner}`,
    2,
  )
  add('a GET after empty lines', `\r\n\r\nGET /v1/1 HTTP/1.1\r\n${open}${close}\r\n`)
  add('line feeds alone', `GET /v1/1 HTTP/1.1\n${open.replaceAll('\r', '')}Connection: close\n\n`)
  return made
}

const honestTargets = [
  ...['/v1/a', '/v1/a/b/c', '/v1/a-b_c.d~e', '/v1/a?x=1&y=2', '/v1/a?', '/v1/a?x=%2F..%2F'],
  ...[
    '/v1/%20',
    '/v1/%C3%A9',
    '/v1/%E2%82%AC',
    '/v1/a;b=1',
    '/v1/a:b@c',
    '/v1/a,b',
    "/v1/a'b(c)*!",
  ],
  ...[
    '/v1/a+b',
    '/v1/a=b&c',
    '/v1/$a',
    '/v1/a?b?c',
    '/v1/a?//',
    '/v1/%70ets',
    '/%76%31/a',
    '/v1/a/',
  ],
]

const oddTargets = [
  ...['/v1//a', '//v1/a', '/v1/./a', '/v1/../a', '/v1/a/..', '/v1/..', '/v1/%2e/a', '/v1/%2e%2e/a'],
  ...[
    '/v1/.%2e/a',
    '/v1/%2E%2E%2Fa',
    '/v1/..%2fa',
    '/v1%2fa',
    '/v1%2Fa',
    '/v1/a%2f..%2fb',
    '/v1/a%5cb',
  ],
  ...[
    '/v1/\\a',
    '/v1\\..\\a',
    '/v1/..\\a',
    '/v1/%5c..%5ca',
    '/v1/%25',
    '/v1/%252e%252e/a',
    '/v1/%252f',
  ],
  ...[
    '/v1/%00',
    '/v1/a%00b',
    '/v1/%01',
    '/v1/%0a',
    '/v1/%0d%0aX:1',
    '/v1/%7f',
    '/v1/%',
    '/v1/%z',
    '/v1/%zz',
  ],
  ...[
    '/v1/%2',
    '/v1/%c0%ae%c0%ae/a',
    '/v1/%u002e',
    '/v1/a#b',
    '/v1/#',
    '/v1/a#/../b',
    'v1/a',
    '*',
    '',
  ],
  ...[
    'http://x.example/v1/a',
    'http://evil.example/v1/a',
    'https://x.example/v1/a',
    'HTTP://x.example/v1/a',
  ],
  ...[
    'x.example:80',
    '?x=1',
    '/v1/a b',
    '/v1/a\tb',
    '/v1/\x01',
    '/v1/\x7f',
    '/v1/\xe9',
    '/v1/a\x00b',
  ],
  ...['/v1/"a"', '/v1/<a>', '/v1/{a}', '/v1/a|b', '/v1/a^b', '/v1/a`b', '/v1/[a]', '/V1/a'],
]

const methods = [
  'HEAD',
  'PUT',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'get',
  'G ET',
  'GET\t',
  'G\x00T',
  '',
  'G@T',
]

const requestLines = [
  ...[
    'GET /v1/a',
    'GET /v1/a HTTP/0.9',
    'GET /v1/a HTTP/1.0',
    'GET /v1/a HTTP/1.2',
    'GET /v1/a HTTP/2.0',
  ],
  ...[
    'GET /v1/a HTTP/3',
    'GET /v1/a HTTP/11',
    'GET /v1/a HTTP/1',
    'GET /v1/a HTTP/1.10',
    'GET /v1/a http/1.1',
  ],
  ...[
    'GET /v1/a HTTX/1.1',
    'GET  /v1/a HTTP/1.1',
    'GET /v1/a  HTTP/1.1',
    'GET /v1/a HTTP/1.1 ',
    ' GET /v1/a HTTP/1.1',
  ],
  ...['GET\t/v1/a\tHTTP/1.1', 'GET /v1/a HTTP/1.1 x', 'GET /v1/a HTTP/-1.1', 'PRI * HTTP/2.0'],
]

const hosts = [
  ...[
    '',
    ' ',
    ' a, b',
    ' a b',
    ' a/b',
    ' a@b',
    ' a#b',
    ' a?b',
    ' a\\b',
    ' [::1]',
    ' [::1',
    ' ::1',
    ' a:80',
    ' a:b',
  ],
  ...[' a:', ' a:80:80', ' a:99999999', ' -a', ' a..b', ' a%00', ' \x01', ' "a"', 'a', '\ta'],
]

const headerLines = [
  ...[
    'X',
    'X : 1',
    'X\t: 1',
    ': 1',
    ' X: 1',
    'X: 1\r\n Y: 2',
    'X: 1\r\n\tY: 2',
    'X: a\rb',
    'X: a\nb',
    'X: a\x00b',
  ],
  ...[
    'X: a\x01b',
    'X: a\x7fb',
    'X: \xe9',
    'X\x00: 1',
    'X\x01: 1',
    'X(: 1',
    'X@Y: 1',
    '"X": 1',
    'X_Y: 1',
    'X: ',
  ],
  ...[
    'X:',
    'X:1',
    '__proto__: 1',
    'Connection: x-caller-id',
    'Connection: host',
    'Expect: x',
    'TE: chunked',
  ],
  ...[
    'Content-Length: 0',
    'Upgrade: x',
    'Keep-Alive: x',
    `X: ${'y'.repeat(20_000)}`,
    'X: y\r\n'.repeat(120).trimEnd(),
  ],
]

const lengths = [
  ...[
    ' 5',
    ' 05',
    ' +5',
    ' -5',
    ' 5 ',
    ' 5, 5',
    ' 5,6',
    ' 0x5',
    ' 5.0',
    ' 5e0',
    '',
    ' ',
    ' a',
    ' 5a',
  ],
  ...[
    ' 99999999999999999999',
    ' 18446744073709551621',
    ' 5\r\nContent-Length: 5',
    ' 5\r\nContent-Length: 6',
  ],
  ...['\t5', ' \x005', ' "5"', ' 5;5', ' ５'],
]

const encodings = [
  ...[
    ' chunked',
    ' Chunked',
    ' CHUNKED',
    ' chunked ',
    '\tchunked',
    ' "chunked"',
    ' chunked, identity',
  ],
  ...[
    ' identity',
    ' identity, chunked',
    ' gzip',
    ' gzip, chunked',
    ' chunked, chunked',
    ' xchunked',
    ' chunkedx',
  ],
  ...[
    ' chunked;a=b',
    ' ,chunked',
    ' chunked,',
    ' \x0bchunked',
    ' \x00chunked',
    '',
    ' x',
    ' chu\r\n nked',
  ],
  ...[
    ' chunked\r\nTransfer-Encoding: chunked',
    ' chunked\r\nTransfer-Encoding: x',
    ' x\r\nTransfer-Encoding: chunked',
  ],
]

const encodingNames = [
  'Transfer-Encoding ',
  'Transfer_Encoding',
  'Transfer-Encoding\t',
  ' Transfer-Encoding',
  'X\r\nTransfer-Encoding',
]

const bothLengths: readonly (readonly [string, string, string])[] = [
  ['a length, then chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', chunks],
  ['chunks, then a length', 'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', chunks],
  ['a length of 0, then chunks', 'Content-Length: 0\r\nTransfer-Encoding: chunked\r\n', chunks],
  ['a length, then identity', 'Content-Length: 5\r\nTransfer-Encoding: identity\r\n', 'hello'],
  ['a length, then no encoding', 'Content-Length: 5\r\nTransfer-Encoding:\r\n', 'hello'],
  ['neither length nor chunks, but a body', '', 'hello'],
  ['a length that is too short', 'Content-Length: 3\r\n', 'hello'],
]

const chunkBodies = [
  ...[
    '0\r\n\r\n',
    '5\r\nhello\r\n0\r\nX: 1\r\n\r\n',
    '5;a=b\r\nhello\r\n0\r\n\r\n',
    '05\r\nhello\r\n0\r\n\r\n',
  ],
  ...[
    '0x5\r\nhello\r\n0\r\n\r\n',
    '+5\r\nhello\r\n0\r\n\r\n',
    '-5\r\nhello\r\n0\r\n\r\n',
    ' 5\r\nhello\r\n0\r\n\r\n',
  ],
  ...[
    '5 \r\nhello\r\n0\r\n\r\n',
    '5\nhello\n0\n\n',
    '5\r\nhello0\r\n\r\n',
    '5\r\nhelloX0\r\n\r\n',
    '6\r\nhello\r\n0\r\n\r\n',
  ],
  ...[
    '\r\nhello\r\n0\r\n\r\n',
    'g\r\nhello\r\n0\r\n\r\n',
    'ffffffffffffffff1\r\nhello\r\n0\r\n\r\n',
    '5\rhello\r\n0\r\n\r\n',
  ],
  ...[
    '5;\nhello\r\n0\r\n\r\n',
    `5;${'a'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`,
    '0\r\nContent-Length: 9\r\n\r\n',
  ],
  ...['0\r\nX : 1\r\n\r\n', '5\r\nhello\r\n0\r\n\rX'],
]
