import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Ends } from './redis.ts'

/** A backend that echoes short frames of WebSockets, and refuses those for /v1/no. */
export async function startEcho(t: Ends) {
  const asked: IncomingMessage[] = []
  const open = new Set<Duplex>()
  const server = createServer((_request, response) => response.writeHead(426).end('{}'))
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    asked.push(request)
    if (request.url === '/v1/no') {
      return void socket.end(
        'HTTP/1.1 404 Not Found\r\nX-Gateway-Cost: 9\r\nContent-Length: 2\r\n\r\nno',
      )
    }
    open.add(socket)
    socket.on('error', () => undefined)
    socket.once('end', () => socket.end())
    socket.once('close', () => open.delete(socket))
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nServer: x\r\n` +
        `X-RateLimit-Limit: 1\r\nX-Gateway-Cost: 9\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    socket.on('data', (frame: Buffer) => {
      const [opcode = 0, length = 0] = [frame.readUInt8(0), frame.readUInt8(1) & 127]
      if ((opcode & 15) === 8) return void socket.end(Buffer.from([0x88, 0]))
      const mask = frame.subarray(2, 6)
      const said = frame.subarray(6, 6 + length).map((byte, i) => byte ^ (mask[i % 4] ?? 0))
      socket.write(Buffer.concat([Buffer.from([0x81, length]), said]))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    open.forEach((socket) => socket.destroy())
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, seen: asked, open }
}
