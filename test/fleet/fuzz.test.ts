import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import t from 'tap'
import { request } from 'undici'
import { signatureChecker, signatureHeader } from '../../shared/signature.ts'
import { peakMemory, startFleet } from '../support/fleet.ts'
import { rawRequests } from './raw-requests.ts'

// FUZZ_SECONDS=600 FUZZ_SEED=7 npm test -- build/test/fleet/fuzz.test.js

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
      const header = (name: string): string => String(asked.headers[name] ?? '')
      const signed = {
        method: asked.method ?? '',
        target: asked.url ?? '',
        callerId: header('x-caller-id'),
        plan: header('x-caller-plan'),
        requestId: header('x-request-id'),
      }
      const fault = signatureFault(signed, header(signatureHeader), Date.now())
      if (fault) faults.push(`${asked.method} ${asked.url}: ${fault}`)
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
