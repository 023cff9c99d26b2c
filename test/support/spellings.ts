type Random = (below: number) => number

/** Names that only the gateway may write, and some that begin like them. */
export const ownNames = [
  ...['X-Caller-Id', 'X-Caller-Plan', 'X-Caller-Account', 'X-Caller-Reference', 'X-Caller-Tenant'],
  ...['X-Caller', 'Signature', 'Signature-Input'],
]
/** What stands in place of a hyphen: marks that names may have. */
const marks = [
  ...['_', '.', '--', '-_', '__', '_-_', '~', '!', '+', '|', "'", '*', '^', '`', '#', '$', '&', ''],
  ...['%2d', '%2D', '%5f', '%', '-'.repeat(3_000), '_'.repeat(300)],
]
/** Others, in bytes: spaces, controls, separators, and dashes of larger alphabets. */
const noMarks = [
  ...[' ', '\t', '\0', '\x01', '\x7f', '\xad', '\xe2\x80\x90', ':', '/', '(', ',', ';', '=', '@'],
  ...['[', '\\', '"', '{'],
]
const before = [
  '-',
  '_',
  '.',
  '--',
  '~',
  ' ',
  '\t',
  '\0',
  'HTTP-',
  'HTTP_',
  '\xef\xbb\xbf',
  '%',
  '"',
]
const after = ['-', '_', '.', '~', ' ', '\t', ' \t ', '\0', '\x0b', '\xa0', ':', '%00', '%20', '"']
/** Other writings of a letter: by its number, with an accent, and ones that are the same in capitals. */
const letters: Readonly<Record<string, readonly string[]>> = {
  a: ['%61', '\xe0', '\xd0\xb0', '\\u0061', '&#97;'],
  c: ['%63', '\xe7', '\xd1\x81'],
  i: ['%69', '\xef', '\xc4\xb1', '\xc4\xb0'],
  s: ['%73', '\xc5\xbf'],
  x: ['%58', '\xd7', '\xd0\xa5', '\xef\xbc\xb8'],
}

/** A name of the gateway's in another spelling. */
export function spelled(name: string, random: Random): string {
  const one = (from: readonly string[]): string => from[random(from.length)] ?? ''
  const turn = (each: string): string => {
    if (each === '-') return random(3) === 0 ? '-' : one(random(8) === 0 ? noMarks : marks)
    const others = letters[each.toLowerCase()]
    if (others && random(60) === 0) return one(others)
    return random(2) === 0 ? each.toLowerCase() : each.toUpperCase()
  }
  const ends = [random(8) === 0 ? one(before) : '', random(8) === 0 ? one(after) : '']
  return `${ends[0]}${[...name].map(turn).join('')}${ends[1]}`
}

/** Values that speak in the gateway's name; those of signatures are read in other ways by some. */
export const forged: Readonly<Record<'caller' | 'signature', readonly string[]>> = {
  caller: ['zoo', '', ' zoo\t', '"zoo"', 'zoo, zoo'],
  signature: [
    ...['tollgate=:AAAA:', 'tollgate', 'tollgate=?1', 'tollgate=("@path");tag="tollgate"', ''],
    ...['a=("@path");tag="tollgate"', 'a=("@path"); tag="tollgate"', 'a=:AA==:,tollgate=:AAAA:'],
    ...['tollgate=:AAAA:, a=:AA==:', 'Tollgate=:AAAA:', ' tollgate = :AAAA:', 'a=:AA==:'],
    ...['tollgate=:AAAA:\t,\ttollgate=:BBBB:', 'a=("x tollgate=(");b', 'a;b="tollgate=:AAAA:"'],
    ...['a=("@path");tag=tollgate', 'tollgate=("', 'tollgate=:AAAA:,', ',tollgate=:AAAA:', 'zoo'],
  ],
}

/** The ways in which a caller sends a header, as bytes; `open` is Host and token. */
export const ways: Readonly<Record<string, (open: string, line: string, name: string) => string>> =
  {
    plainly: (open, line) => get(`${open}${line}\r\n`),
    first: (open, line) => get(`${line}\r\n${open}`),
    doubled: (open, line) => get(`${line}\r\n${open}${line}\r\n`),
    'with a line feed': (open, line) => get(`${open}${line}\n`),
    'behind a line feed': (open, line) => get(`${open}X-Other: a\n${line}\r\n`),
    'behind a carriage return': (open, line) => get(`${open}X-Other: a\r${line}\r\n`),
    'behind a NUL': (open, line) => get(`${open}X-Other: a\0${line}\r\n`),
    'in a fold': (open, line) => get(`${open}X-Other: a\r\n ${line}\r\n`),
    'in a fold by a tab': (open, line) => get(`${open}X-Other:\r\n\t${line}\r\n`),
    'folded itself': (open, line) => get(`${open}${line.replace(/:/, ':\r\n ')}\r\n`),
    'in the request line’s fold': (open, line) => `GET /v1/x HTTP/1.1\r\n ${line}\r\n${open}\r\n`,
    'named by Connection': (open, line, name) =>
      get(`${open}${line}\r\nConnection: ${name}, X-Caller-Id, signature, x_caller_plan\r\n`),
    'of a connection': (open, line, name) => get(`Connection: ${name}\r\n${open}${line}\r\n`),
    'by HTTP/1.0': (open, line) => `GET /v1/x HTTP/1.0\r\n${open}${line}\r\n\r\n`,
    'by HTTP/1.0, kept alive': (open, line) =>
      `GET /v1/x HTTP/1.0\r\nConnection: keep-alive\r\n${open}${line}\r\n\r\n`,
    'for a WebSocket': (open, line) =>
      get(
        `${open}${line}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`,
      ),
    'in trailers': (open, line, name) =>
      `POST /v1/x HTTP/1.1\r\n${open}TE: trailers\r\nTrailer: ${name}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n${line}\r\n\r\n`,
    'behind a chunk': (open, line) =>
      `POST /v1/x HTTP/1.1\r\n${open}Transfer-Encoding: chunked\r\n\r\n5;${line}\r\nhello\r\n0\r\n\r\n`,
    'with a body': (open, line) =>
      `POST /v1/x HTTP/1.1\r\n${open}${line}\r\nContent-Length: 5\r\n\r\nhello`,
    'in the path': (open, line) => get(open, `/v1/x%0d%0a${encodeURIComponent(line)}`),
    'in the query': (open, line) => get(open, `/v1/x?a=%0D%0A${encodeURIComponent(line)}`),
    'in the id of the request': (open, line) => get(`${open}X-Request-Id: a%0d%0a${line}\r\n`),
  }

function get(lines: string, target = '/v1/x'): string {
  return `GET ${target} HTTP/1.1\r\n${lines}\r\n`
}
