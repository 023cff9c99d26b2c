import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { startStore } from '../support/backend.ts'
import { ratioOf } from '../support/cost.ts'
import { startFleet } from '../support/fleet.ts'
import { startUpstream } from '../support/gateway.ts'
import { answerFrom, json, raw } from '../support/http.ts'

const megabyte = 1024 * 1024

/** The body that a backend has got of the last request so far, and the bytes of its answer. */
const backend = { got: '', answer: '' }
const arrivals = new EventEmitter()
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

const upstream = await startUpstream(t, (request) => {
  backend.got = ''
  request.on('data', (bytes: Buffer) => {
    backend.got += bytes.toString('latin1')
    arrivals.emit('some')
  })
  request.on('end', () => request.socket.end(backend.answer))
})
const { urls, processes, key } = await startFleet(t, {
  upstream: upstream.url,
  routes: '[ { path: /v1/*, upstream: animals, bodyLimit: 8MiB } ]',
  more: 'strangers: { perMinute: 50, perDay: 1000000 }',
})
const pid = processes[0]?.child.pid
const port = Number(new URL(urls[0] ?? '').port)
const limits = { perMinute: 1_000_000, perDay: 1_000_000 }
const { authorization } = await key({ limits })

type Head = (lines: string) => string
const posted: Head = (lines) => `POST /v1/x HTTP/1.1\r\nHost: a\r\n${lines}\r\n`
const known: Head = (lines) => posted(`Authorization: ${authorization}\r\n${lines}`)

function whole(head: Head, bytes: number): string {
  return head(`Content-Length: ${bytes + 3}\r\n`) + 'x'.repeat(bytes) + 'end'
}

function inChunks(head: Head, bytes: number, size: number): string {
  const chunk = chunkOf('x'.repeat(size))
  return `${head(chunked)}${chunk.repeat(bytes / size)}${chunkOf('end')}0\r\n\r\n`
}

const chunked = 'Transfer-Encoding: chunked\r\n'

function chunkOf(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`
}

function dechunked(text: string): string {
  let body = ''
  for (let at = 0; ;) {
    const end = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, end), 16)
    if (!(size > 0)) return body
    body += text.slice(end + 2, end + 2 + size)
    at = end + 4 + size
  }
}

function open(): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.on('error', () => undefined)
  })
}

/** Sends bytes on a connection of their own, and gives what comes until the gateway ends it. */
async function send(bytes: string): Promise<string> {
  const socket = await open()
  socket.write(bytes)
  let answer = ''
  for await (const piece of socket) answer += String(piece)
  return answer
}

function sends(bytes: string, status: RegExp) {
  return async (): Promise<void> => {
    const answer = await send(bytes)
    if (!status.test(answer)) throw new Error(`not ${status}: ${answer.slice(0, 200)}`)
  }
}

const closing: Record<string, Head> = {
  'with a key': (lines) => known(`Connection: close\r\n${lines}`),
  'without one': (lines) => posted(`Connection: close\r\n${lines}`),
}
t.test('a body in many small chunks is refused, and its connection ended', async (t) => {
  const answer = answerFrom(await send(inChunks(known, megabyte, 16)))
  t.equal(answer.status, 400)
  t.match(answer.headers, { connection: 'close' })
  t.match(json(answer), { code: 'invalid_request', message: /too many small chunks/ })
})

for (const bytes of [megabyte, megabyte / 16]) {
  for (const [name, head] of Object.entries(closing)) {
    t.test(
      `no spelling of ${bytes / 1024} KiB ${name} costs three times the plainest`,
      async (t) => {
        backend.answer = ok
        const plain = sends(whole(head, bytes), /^HTTP\/1\.1 (?:200|401|429) /)
        for (const size of [1, 8, 64, 256, 1024]) {
          const other = sends(inChunks(head, bytes, size), /^HTTP\/1\.1 (?:200|400|401|429) /)
          const ratio = await ratioOf(pid, other, plain, 3)
          t.ok(ratio <= 3, `chunks of ${size}: ${ratio.toFixed(2)} times`)
        }
      },
    )
  }
}

t.test('a body whose chunks come one by one may have any', async (t) => {
  backend.answer = ok
  const socket = await open()
  socket.write(known(chunked))
  let sent = ''
  for (let i = 0; i < 1_000; i++) {
    sent += String(i % 10)
    socket.write(chunkOf(String(i % 10)))
    while (backend.got !== sent) await once(arrivals, 'some')
  }
  socket.write(`${chunkOf('end')}0\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  t.match(answer.toString(), /^HTTP\/1\.1 200 /)
  t.equal(backend.got, `${sent}end`)
  socket.destroy()
})

t.test('what is gathered arrives as it was sent, both ways', async (t) => {
  const sizes = Array.from({ length: 400 }, (_, i) => 1 + ((i * 7919) % 3000))
  const texts = sizes.map((size, i) => String.fromCharCode(97 + (i % 26)).repeat(size))
  const body = [...texts, 'end']
  backend.answer = `HTTP/1.1 200 OK\r\n${chunked}\r\n${body.map(chunkOf).join('')}0\r\n\r\n`
  const answer = await send(
    `${closing['with a key']?.(chunked)}${body.map(chunkOf).join('')}0\r\n\r\n`,
  )
  t.equal(backend.got, body.join(''))
  t.equal(dechunked(answerFrom(answer).text), body.join(''))
})

t.test(
  'a backend’s answer in small chunks costs no more than three times one in a piece',
  async (t) => {
    const bytes = megabyte / 16
    const answers = (chunk: string) => {
      const act = sends(
        `${closing['with a key']?.(chunked)}${chunkOf('end')}0\r\n\r\n`,
        /^HTTP\/1\.1 200 /,
      )
      const body = chunkOf(chunk).repeat(bytes / chunk.length)
      return async () => {
        backend.answer = `HTTP/1.1 200 OK\r\n${chunked}\r\n${body}0\r\n\r\n`
        await act()
      }
    }
    const ratio = await ratioOf(pid, answers('x'.repeat(16)), answers('x'.repeat(bytes)), 3)
    t.ok(ratio <= 3, `${ratio.toFixed(2)} times`)
  },
)

t.test('a pipelined request in many small chunks is refused in its turn', async (t) => {
  backend.answer = ok
  const first = whole(known, 10)
  const answers = await send(`${first}${inChunks(known, megabyte / 16, 1)}`)
  // Its sender counts as a stranger, of whom the tests before have sent too many.
  t.match(answers, /^HTTP\/1\.1 200 [^]*\r\n\r\nokHTTP\/1\.1 4(?:00|29) /)
})

t.test('the animal store refuses such a body, too, and goes on', async (t) => {
  const { url, call } = await startStore(t)
  const head: Head = (lines) =>
    `POST /v1/pets HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${lines}\r\n`
  const answer = answerFrom(await raw(url, inChunks(head, megabyte / 16, 1)))
  t.equal(answer.status, 400)
  t.match(json(answer), { code: 'invalid_request', message: /too many small chunks/ })
  t.equal((await call('GET', '/v1/pets')).status, 200)
})
