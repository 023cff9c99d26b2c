import { createServer as createCollector } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'

type Listening = Readonly<{ url: string; close: () => void }>

/**
 * A backend that answers each request with 150 bytes of JSON. In this process, on bare sockets, because
 * it must cost little: on two processors, what is measured has the other one to itself.
 */
export async function startUpstream(): Promise<Listening> {
  const body = JSON.stringify({ animals: ['x'.repeat(134)] })
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: keep-alive'
  const answer = `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const server = createServer({ noDelay: true }, (socket) => {
    let received = ''
    socket.setEncoding('latin1')
    socket.on('error', () => undefined)
    socket.on('data', (text: string) => {
      received += text
      for (let end = received.indexOf('\r\n\r\n'); end >= 0;) {
        received = received.slice(end + 4)
        socket.write(answer, 'latin1')
        end = received.indexOf('\r\n\r\n')
      }
    })
  })
  return listening(server)
}

/** A collector of spans that takes whatever comes. */
export function startCollector(): Promise<Listening> {
  return listening(
    createCollector((request, response) => request.resume().on('end', () => response.end('{}'))),
  )
}

async function listening(server: Server): Promise<Listening> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  }
}
