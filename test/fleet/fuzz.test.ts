import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import t from 'tap'
import { request } from 'undici'
import { signatureChecker } from '../../shared/signature.ts'
import { peakMemory, startFleet } from '../support/fleet.ts'
import { startGateway, startUpstream } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { rawRequests } from './raw-requests.ts'

// FUZZ_SECONDS=600 FUZZ_SEED=7 npm test -- test/fleet/fuzz.test.ts

const seconds = Number(process.env['FUZZ_SECONDS'] ?? 5)
const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_120)
const secret = 's3cret'

/** A generator of numbers from 0 to below 1 that begins anew with each seed. */
function randomFrom(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const random = randomFrom(seed)
const upTo = (end: number): number => Math.floor(random() * end)

const salt = [
  '\r\n',
  '\n',
  '\r',
  ' ',
  '\t',
  '\0',
  ':',
  ',',
  ';',
  '%',
  '%00',
  '%2f',
  '//',
  '..',
  '\x80',
  '\xff',
  '0',
  '-1',
]

/** The same bytes with a few of them changed, left out, put in or doubled. */
function mutated(bytes: Buffer): Buffer {
  for (let changes = 1 + upTo(4); changes > 0; changes--) {
    const at = upTo(bytes.length + 1)
    const length = upTo(12)
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
    const kind = upTo(5)
    if (kind === 0) bytes = Buffer.concat([before, Buffer.of(upTo(256)), after.subarray(1)])
    else if (kind === 1) bytes = Buffer.concat([before, after.subarray(length)])
    else if (kind === 2) bytes = Buffer.concat([before, after.subarray(0, length), after])
    else
      bytes = Buffer.concat([before, Buffer.from(salt[upTo(salt.length)] ?? '', 'latin1'), after])
  }
  return bytes
}

/** Sends bytes in one or several pieces, and gives back what was answered before the end. */
function send(url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(Number(port), hostname, () => {
      const cut = random() < 0.3 ? upTo(bytes.length) : bytes.length
      socket.write(bytes.subarray(0, cut))
      setImmediate(() => void socket.end(bytes.subarray(cut)))
    })
    socket.setTimeout(1_000, () => socket.destroy())
    socket.on('data', (text: Buffer) => (answer += text.toString('latin1')))
    socket.on('error', () => undefined)
    socket.once('close', () => resolve(answer))
  })
}

t.test(
  'whatever bytes come, a backend hears nothing but what the gateway has vouched for',
  async (t) => {
    const signatureFault = signatureChecker(secret)
    const faults: string[] = []
    let heard = 0
    const server = createServer((asked: IncomingMessage, response) => {
      const { method = '', url: target = '', headers } = asked
      const fault = signatureFault({ method, target, headers }, Date.now())
      if (typeof fault === 'string') faults.push(`${asked.method} ${asked.url}: ${fault}`)
      heard++
      asked.resume().on('error', () => undefined)
      response.end('{"up":"stream"}')
    })
    server.on('clientError', (error: Error & { code?: string }, socket) => {
      const isCutShort = error.code === 'ECONNRESET' || error.code === 'HPE_INVALID_EOF_STATE'
      if (!isCutShort) faults.push(`what is no HTTP: ${error.message}`)
      socket.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      server.close()
      server.closeAllConnections()
    })
    const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { urls, processes, key } = await startFleet(t, {
      upstream,
      more: 'plans: { p: { perMinute: unlimited, perDay: unlimited } }\nstrangers: { perMinute: 10000000, perDay: 100000000 }',
      upstreamMore: 'health: { unhealthyAfter: 1000000 }, timeout: { response: 1s, request: 1s }',
      environments: [{ GATEWAY_SECRET: secret, LOG_LEVEL: 'silent' }],
    })
    const [url = ''] = urls
    const [gateway] = processes
    if (!gateway) return
    const headers = await key()
    const seeds = rawRequests(`Authorization: ${headers.authorization}\r\n`).map(({ bytes }) =>
      Buffer.from(bytes, 'latin1'),
    )
    const good = async (): Promise<void> => {
      const { statusCode, body } = await request(`${url}/v1/good`, { headers })
      if (statusCode !== 200 || (await body.text()) !== '{"up":"stream"}') {
        t.fail(`a good request was answered with ${statusCode}`)
      }
    }
    let sent = 0
    let unanswered = 0
    const batch = async (): Promise<void> => {
      await Promise.all(
        Array.from({ length: 32 }, async () => {
          const isNoise = random() < 0.1
          const bytes = isNoise
            ? Buffer.from(Array.from({ length: upTo(2_000) }, () => upTo(256)))
            : mutated(seeds[upTo(seeds.length)] ?? Buffer.alloc(0))
          const answer = await send(url, bytes)
          sent++
          if (answer === '') unanswered++
          else if (!/^HTTP\/1\.1 (?:[1-4]\d\d|50[1-5]) /.test(answer)) {
            t.fail(`answered with ${JSON.stringify(answer.slice(0, 80))}`)
          }
        }),
      )
      await good()
    }
    const end = performance.now() + seconds * 1_000
    while (performance.now() < end - (seconds * 1_000) / 2) await batch()
    const half = peakMemory(gateway)
    while (performance.now() < end) await batch()
    const grown = peakMemory(gateway) - half
    t.strictSame(faults, [], `seed ${seed}`)
    t.equal(gateway.child.exitCode, null, 'the gateway lives')
    t.ok(
      heard > 0 && sent > 100,
      `${sent} sent, ${heard} passed on, ${unanswered} not worth an answer`,
    )
    t.ok(grown < 40, `${Math.round(grown)} MB more in the second half`)
  },
)

/** A request of a pipeline: what is sent, what a correct server answers, and what becomes of the rest. */
type Piped = Readonly<{
  bytes: string
  status: number
  /** Whether a backend hears of it. */
  isDone: boolean
  /** Whether nothing behind it is done. */
  isLast: boolean
}>

/** Requests of all kinds, each with a number that a backend would see. */
function pipedKinds(auth: string, small: string) {
  const host = 'Host: x\r\n'
  const line = (method: string, number: number, version = '1.1'): string =>
    `${method} /v1/n${number} HTTP/${version}\r\n`
  const asked = (bytes: string, status = 200, isLast = false): Piped => ({
    ...{ bytes, status, isLast, isDone: status === 200 },
  })
  return [
    (n: number) => asked(`${line('GET', n)}${host}${auth}\r\n`),
    (n: number) => asked(`${line('GET', n)}${host}${auth}\r\n`),
    (n: number) => asked(`${line('HEAD', n)}${host}${auth}\r\n`),
    (n: number) => asked(`${line('POST', n)}${host}${auth}Content-Length: 5\r\n\r\nhello`),
    (n: number) =>
      asked(
        `${line('PUT', n)}${host}${auth}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
      ),
    (n: number) => asked(`${line('GET', n)}${host}\r\n`, 401),
    (n: number) => asked(`${line('POST', n)}${host}Content-Length: 5\r\n\r\nGET /`, 401),
    (n: number) => asked(`${line('GET', n)}${host}${small}\r\n`, 429),
    (n: number) => asked(`GET /v1//n${n} HTTP/1.1\r\n${host}${auth}\r\n`, 400),
    (n: number) => asked(`GET /elsewhere HTTP/1.1\r\n${host}${auth}X: ${n}\r\n\r\n`, 404),
    (n: number) => asked(`${line('GET', n)}${host}${auth}Content-Length: 2\r\n\r\nhi`, 400),
    (n: number) => asked(`${line('GET', n)}${auth}\r\n`, 400, true),
    (n: number) => asked(`${line('GET', n)}${host}${host}${auth}\r\n`, 400, true),
    (n: number) => asked(`${line('GET', n)}${host}${auth}Connection: close\r\n\r\n`, 200, true),
    (n: number) => asked(`${line('GET', n, '1.0')}${host}${auth}\r\n`, 200, true),
    (n: number) =>
      asked(
        `${line('GET', n)}${host}${auth}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`,
        200,
        true,
      ),
  ]
}

/** Statuses of the answers in some bytes, as a client reads them that knows what it asked. */
function answersTo(asked: readonly Piped[], bytes: string): number[] {
  const statuses: number[] = []
  let at = 0
  for (const { bytes: sent } of asked) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end < 0) break
    const head = bytes.slice(at, end)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1])
    const length = Number(/^content-length: (\d+)\r?$/im.exec(head)?.[1] ?? 0)
    at = end + 4 + (sent.startsWith('HEAD ') ? 0 : length)
    if (at > bytes.length) break
    statuses.push(status)
  }
  return at === bytes.length ? statuses : [...statuses, NaN]
}

t.test('a pipeline is answered in its order, up to its last request, and no further', async (t) => {
  // An answer that begins before all of a body in chunks has come would be the last of its connection.
  const upstream = await startUpstream(t, (asked, response) => {
    asked.resume().once('end', () => setTimeout(() => response.end(asked.url), upTo(4)))
  })
  const { url, key } = await startGateway(t, {
    upstream,
    more: 'strangers: { perMinute: 10000000, perDay: 100000000 }',
  })
  const { token } = await key({ limits: { perMinute: 10_000_000, perDay: 10_000_000 } })
  const few = await key({ limits: { perMinute: 1, perDay: 10_000_000 }, plan: 'enterprise' })
  const auth = `Authorization: Bearer ${token}\r\n`
  const kinds = pipedKinds(auth, `Authorization: Bearer ${few.token}\r\n`)
  const { hostname, port } = new URL(url)
  const usedUp = async (): Promise<boolean> =>
    (await request(`${url}/v1/x`, { headers: { authorization: `Bearer ${few.token}` } }))
      .statusCode === 429
  await until(usedUp)
  const end = performance.now() + seconds * 1_000
  let [pipelines, requests, number] = [0, 0, 0]
  while (performance.now() < end) {
    // A new minute lets the small key in once.
    if (new Date().getUTCSeconds() > 56)
      await until(async () => new Date().getUTCSeconds() < 50 && (await usedUp()), 20_000)
    upstream.seen.length = 0
    const asked = Array.from({ length: 1 + upTo(30) }, () =>
      kinds[upTo(kinds.length)]?.(++number),
    ).filter((each) => each !== undefined)
    const last = asked.findIndex(({ isLast }) => isLast)
    const counted = last < 0 ? asked : asked.slice(0, last + 1)
    const bytes = Buffer.from(asked.map(({ bytes }) => bytes).join(''), 'latin1')
    const received = await new Promise<string>((resolve) => {
      let text = ''
      const socket = connect(Number(port), hostname)
      const isWhole = (): boolean => last < 0 && answersTo(counted, text).length === counted.length
      socket.on('data', (more: Buffer) => {
        text += more.toString('latin1')
        if (isWhole()) setTimeout(() => socket.destroy(), 2)
      })
      socket.on('error', () => undefined)
      socket.setTimeout(10_000, () => socket.destroy())
      socket.once('close', () => resolve(text))
      const write = (from: number): void => {
        const to = random() < 0.5 ? bytes.length : from + 1 + upTo(400)
        socket.write(bytes.subarray(from, to))
        if (to < bytes.length) setImmediate(write, to)
      }
      write(0)
    })
    const statuses = answersTo(counted, received)
    const expected = counted.map(({ status }) => status)
    const done = upstream.seen
      .map((each) => Number(/n(\d+)$/.exec(each.url ?? '')?.[1]))
      .sort((a, b) => a - b)
    const toDo = counted.flatMap(({ isDone, bytes }) =>
      isDone ? [Number(/\/n(\d+) /.exec(bytes)?.[1])] : [],
    )
    if (String(statuses) !== String(expected) || String(done) !== String(toDo)) {
      t.strictSame(
        { statuses, done },
        { statuses: expected, done: toDo },
        `seed ${seed}, pipeline ${pipelines}`,
      )
      t.comment(
        asked
          .map(({ bytes }) => bytes)
          .join('')
          .slice(0, 4_000),
      )
      break
    }
    pipelines++
    requests += counted.length
  }
  t.ok(pipelines > 50, `${pipelines} pipelines of ${requests} requests, seed ${seed}`)
})
