import t from 'tap'
import { connect, type Socket } from 'node:net'
import { serviceLog } from '../../shared/request-log.ts'
import { startGateway, startRawUpstream, type Gateway } from '../support/gateway.ts'

/** Parts of a backend's headers in this test: bytes, written as latin1. */
type Odd = Readonly<{ name: string; before: string; after: string }>

const body = 'ok'
const length = `Content-Length: ${body.length}\r\n`
const canary = 'tg_'
const patienceMs = 3_000

/** An upstream that answers with the headers whose number the path has. */
function oddUpstream(t: Parameters<typeof startRawUpstream>[0], table: readonly string[]) {
  return startRawUpstream(t, (socket) => {
    socket.on('data', (bytes) => {
      const lines = table[Number(/\/v1\/(\d+) /.exec(bytes.toString())?.[1])] ?? ''
      socket.write(`HTTP/1.1 200 OK\r\n${lines}\r\n${body}`, 'latin1')
    })
  })
}

/** Asks on one connection, again and again, and gives back each answer as bytes. */
function asker(url: string, token: string) {
  let socket: Socket | undefined
  return (path: string): Promise<string> =>
    new Promise((resolve) => {
      if (!socket) {
        socket = connect(Number(new URL(url).port), '127.0.0.1')
        socket.on('error', () => undefined)
      }
      const own = socket
      let received = ''
      const take = (bytes: Buffer): void => {
        received += bytes.toString('latin1')
        const head = received.indexOf('\r\n\r\n')
        const size = /^content-length: (\d+)\r$/im.exec(received.slice(0, head))?.[1]
        if (head >= 0 && received.length >= head + 4 + Number(size ?? Infinity)) done()
      }
      const done = (): void => {
        clearTimeout(timer)
        own.off('data', take)
        own.off('close', left)
        resolve(received)
      }
      const timer = setTimeout(() => own.destroy(), patienceMs)
      const left = (): void => {
        socket = undefined
        done()
      }
      own.on('data', take)
      own.once('close', left)
      own.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    })
}

/** Every byte in names and in values, before and after the length, twice, alone, and very long. */
function oddities(): Odd[] {
  const odd: Odd[] = []
  const both = (name: string, line: string): void => {
    odd.push({ name: `${name}, before`, before: line, after: '' })
    odd.push({ name: `${name}, after`, before: '', after: line })
  }
  for (let byte = 0; byte < 256; byte++) {
    const char = String.fromCharCode(byte)
    const hex = byte.toString(16).padStart(2, '0')
    both(`0x${hex} in a value`, `X-Odd: a${char}b\r\n`)
    both(`0x${hex} in a disposition`, `Content-Disposition: inline; filename="a${char}b"\r\n`)
    both(`0x${hex} in a name`, `X-O${char}dd: a\r\n`)
  }
  const latin1 = Buffer.from('café ✓').toString('latin1')
  both('UTF-8 in a disposition', `Content-Disposition: attachment; filename="${latin1}"\r\n`)
  both('UTF-8 twice', `Content-Disposition: ${latin1}\r\nContent-Disposition: ${latin1}\r\n`)
  both('two types', 'Content-Type: text/plain\r\nContent-Type: text/html\r\n')
  both('one type twice', 'Content-Type: text/plain\r\nContent-Type: text/plain\r\n')
  both('two of one name', 'X-Odd: a\r\nX-Odd: b\r\n')
  both('8 KiB', `X-Odd: ${'x'.repeat(8_192)}\r\n`)
  both('20 KiB', `X-Odd: ${'x'.repeat(20_480)}\r\n`)
  both('a name of 4 KiB', `${'x'.repeat(4_096)}: a\r\n`)
  both('nothing', 'X-Odd:\r\n')
  both('names that objects have', '__proto__: a\r\nconstructor: b\r\ntoString: c\r\n')
  both('names that are numbers', '1: a\r\n0: b\r\n')
  both('two lengths', `${length}`)
  both('another length', 'Content-Length: 1\r\n')
  both('a length of words', 'Content-Length: two\r\n')
  both('a cookie with a byte over 0x7f', 'Set-Cookie: a=\xe9\r\nSet-Cookie: b=\xff\r\n')
  both('a place with a byte over 0x7f', 'Location: /caf\xe9\r\n')
  return odd
}

/** The faults of an answer as sentences. A forwarded header must be unchanged; of several types the last is forwarded. */
function faults(answer: string, lines: string): string[] {
  const found: string[] = []
  const head = answer.slice(0, answer.indexOf('\r\n\r\n'))
  const rest = answer.slice(head.length + 4)
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]
  const count = (name: string): number =>
    head.split('\r\n').filter((line) => line.toLowerCase().startsWith(`${name}:`)).length
  if (status !== '200' && status !== '502') found.push(`the status is ${status}`)
  for (const name of ['content-length', 'x-ratelimit-limit', 'x-request-id']) {
    if (count(name) !== 1) found.push(`${count(name)} times ${name}`)
  }
  if (status === '502' && !rest.startsWith('{"code":"bad_gateway"')) found.push(rest)
  if (status !== '200') return found
  if (rest !== body) found.push(`the body is ${JSON.stringify(rest)}`)
  const got = head.toLowerCase().split('\r\n')
  const all = lines.toLowerCase().split(/\r\n|\n/)
  const types = all.filter((line) => line.startsWith('content-type:'))
  const sent = all.filter((line) => !types.slice(0, -1).includes(line))
  for (const line of sent.filter((line) => /^(?!content-length|__proto__)[^:\s]+:/.test(line))) {
    const [, name = '', value = ''] = /^([^:]+):[ \t]*([^]*?)[ \t]*$/.exec(line) ?? []
    if (!got.includes(`${name}: ${value}`)) found.push(`lost ${JSON.stringify(line)}`)
  }
  return found
}

async function startOdd(
  t: Parameters<typeof startRawUpstream>[0],
  log: string[],
  table: readonly string[] = [],
) {
  const upstream = await oddUpstream(t, table)
  const gateway = await startGateway(t, {
    upstream,
    upstreamMore: 'health: { unhealthyAfter: 100000 }',
    log: { level: 'trace', target: { write: (line: string) => void log.push(line) } },
  })
  const { token } = await gateway.key({ limits: { perMinute: 100_000, perDay: 100_000 } })
  return { gateway, token, ask: asker(gateway.url, token) }
}

/** Lines of the log that are too long to be one, or hold the secret part of a token. */
function leaks(log: readonly string[], token: string): string[] {
  const secret = token.slice(canary.length + 13)
  return log.filter(
    (line) => line.includes(secret) || line.includes('Bearer') || line.length > 9_000,
  )
}

t.test('whatever headers a backend sends arrive as they came, or as a 502', async (t) => {
  const log: string[] = []
  const rows = oddities().flatMap(({ name, before, after }) =>
    ['', 'Content-Type: text/plain\r\n'].map((type) => ({
      name,
      lines: `${type}${before}${length}${after}`,
    })),
  )
  const { token, ask } = await startOdd(
    t,
    log,
    rows.map(({ lines }) => lines),
  )
  const counts = { 200: 0, 502: 0 }
  for (const [number, { name, lines }] of rows.entries()) {
    const answer = await ask(`/v1/${number}`)
    const wrong = faults(answer, lines)
    if (wrong.length > 0) t.fail(`${name}: ${wrong.join(', ')}`, { answer: answer.slice(0, 500) })
    if (answer.startsWith('HTTP/1.1 200')) counts[200]++
    else counts[502]++
  }
  t.ok(counts[200] > 1_500, `most of it is fine: ${JSON.stringify(counts)}`)
  t.ok(counts[502] > 200, 'and some of it can’t be sent')
  t.same(leaks(log, token), [], 'no token is in the log')
})

t.test('no line of the log holds a request whole, wherever it comes from', async (t) => {
  const log: string[] = []
  const { gateway, token } = await startOdd(t, log)
  const written = serviceLog('gateway', {
    level: 'trace',
    target: { write: (line) => void log.push(line) },
  })
  await leakEverything(gateway, token, written)
  t.ok(log.length >= 5)
  t.same(leaks(log, token), [])
  t.ok(
    log.some((line) => line.includes('what went wrong')),
    'the error is told all the same',
  )
})

/** Logs whatever holds a request: as Fastify's last resort does, and as errors of libraries do. */
async function leakEverything(
  { app }: Gateway,
  token: string,
  log: ReturnType<typeof serviceLog>,
): Promise<void> {
  const { default: Fastify } = await import('fastify')
  const other = Fastify()
  other.get('/', (request, reply) => {
    for (const name of ['req', 'request', 'res', 'reply', 'anything']) {
      for (const value of [request, request.raw, reply, reply.raw]) log.warn({ [name]: value }, 'x')
      log.warn({ nested: { [name]: request } }, 'y')
    }
    const error = Object.assign(new Error('what went wrong'), { request, socket: request.raw })
    log.error({ err: error }, 'z')
    log.error(error)
    app.log.error({ err: Object.assign(new Error('e', { cause: error }), { request }) }, 'z')
    return ''
  })
  await other.inject({ url: '/', headers: { authorization: `Bearer ${token}` } })
  await other.close()
}
