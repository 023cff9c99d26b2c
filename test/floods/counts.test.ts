import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import t from 'tap'
import { ratioOf } from '../support/cost.ts'
import { startFleet } from '../support/fleet.ts'

// What a sender may choose to make many of, beside the same bytes in few.

const backend = createServer((_request, response) => response.end('ok'))
backend.on('upgrade', (_request, socket) => {
  socket.on('error', () => undefined)
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
  )
  socket.on('data', (bytes: Buffer) => {
    if (bytes.includes('end')) socket.write('end')
  })
})
backend.listen(0, '127.0.0.1')
await once(backend, 'listening')
t.teardown(() => {
  backend.close()
  backend.closeAllConnections()
})

const { urls, processes, key } = await startFleet(t, {
  upstream: `http://127.0.0.1:${(backend.address() as AddressInfo).port}`,
  more: 'strangers: { perMinute: 1000000, perDay: 1000000 }',
})
const pid = processes[0]?.child.pid
const port = Number(new URL(urls[0] ?? '').port)
const { authorization } = await key({ limits: { perMinute: 1_000_000, perDay: 1_000_000 } })

function open(): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.on('error', () => undefined)
  })
}

t.test('no number of headers costs five times one header of the same bytes', async (t) => {
  const bytes = 12_000
  const ask = async (headers: string, status: number): Promise<void> => {
    const socket = await open()
    socket.write(
      `GET /v1/x HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nConnection: close\r\n${headers}\r\n`,
    )
    let answer = ''
    for await (const piece of socket) answer += String(piece)
    if (!answer.startsWith(`HTTP/1.1 ${status} `)) throw new Error(answer.slice(0, 200))
  }
  const plain = () => ask(`a: ${'x'.repeat(bytes)}\r\n`, 200)
  for (const [count, status] of [
    [90, 200],
    [1_000, 431],
    [2_400, 431],
  ] as const) {
    const header = `a:${'x'.repeat(Math.max(0, Math.floor(bytes / count) - 4))}\r\n`
    const ratio = await ratioOf(pid, () => ask(header.repeat(count), status), plain, 5)
    t.ok(ratio <= 5, `${count} headers: ${ratio.toFixed(2)} times`)
  }
})

t.test('no number of frames of a WebSocket costs five times one of the same bytes', async (t) => {
  const socket = await open()
  socket.write(
    `GET /v1/ws HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  t.match(head.toString(), /^HTTP\/1\.1 101 /)
  const bytes = 256 * 1024
  const send = async (frame: Buffer): Promise<void> => {
    socket.write(Buffer.alloc(bytes, frame))
    socket.write('end')
    await once(socket, 'data')
  }
  const one = Buffer.concat([Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 4, 0, 0]), Buffer.alloc(bytes)])
  const empty = Buffer.from([0x82, 0])
  const ratio = await ratioOf(
    pid,
    () => send(empty),
    () => send(one),
    5,
  )
  t.ok(ratio <= 5, `${ratio.toFixed(2)} times`)
  socket.destroy()
})
