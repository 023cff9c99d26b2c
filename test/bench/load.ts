import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export type Load = Readonly<{
  url: string
  connections: number
  seconds: number
  /** Goes on until this number of requests is answered. */
  atLeast?: number
  /** The bytes of the n-th request. */
  request: (n: number) => string
}>

export type Outcome = Readonly<{
  requests: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** How many answers had which status. */
  statuses: Readonly<Record<string, number>>
}>

/**
 * Keeps a number of keep-alive connections busy for a time, each with one request in flight. Written
 * on bare sockets because it shares the machine with what it measures, and must cost little.
 */
export async function load({
  url,
  connections,
  seconds,
  atLeast = 0,
  request,
}: Load): Promise<Outcome> {
  const { hostname, port } = new URL(url)
  const times: number[] = []
  const statuses: Record<string, number> = {}
  const started = performance.now()
  const until = started + seconds * 1000
  let n = 0

  const connection = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true })
      let sentAt = 0
      let received = ''
      const send = (): void => {
        if (performance.now() >= until && n >= atLeast) return void socket.end(resolve)
        sentAt = performance.now()
        socket.write(request(n++))
      }
      socket.setEncoding('latin1')
      socket.once('connect', send)
      socket.once('error', reject)
      socket.on('data', (text: string) => {
        received += text
        const end = answerEnd(received)
        if (end === undefined) return
        const status = received.slice(9, 12)
        statuses[status] = (statuses[status] ?? 0) + 1
        received = received.slice(end)
        times.push(performance.now() - sentAt)
        send()
      })
    })

  // This process never sleeps while it measures: waking a sleeping processor at every answer would
  // be charged to the server (a list of 20 read 63 µs instead of 45 on a virtual machine).
  let busy = true
  const stayAwake = (): void => void (busy && setImmediate(stayAwake))
  stayAwake()
  await Promise.all(Array.from({ length: connections }, connection))
  busy = false
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? NaN
  return {
    requests: times.length,
    perSecond: times.length / ((performance.now() - started) / 1000),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    statuses,
  }
}

/** Where the first answer of a text ends; `undefined` while it is not all there. */
function answerEnd(text: string): number | undefined {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const length = /^content-length: *(\d+)/im.exec(text.slice(0, head))?.[1]
  if (length !== undefined) {
    const end = head + 4 + Number(length)
    return text.length >= end ? end : undefined
  }
  if (!/^transfer-encoding: *chunked/im.test(text.slice(0, head))) return head + 4
  const last = text.indexOf('\r\n0\r\n\r\n', head + 2)
  return last < 0 ? undefined : last + 7
}

/** The bytes of a request. */
export function bytes(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): string {
  const all = {
    Host: 'bench',
    ...headers,
    ...(body ? { 'Content-Length': String(body.length) } : {}),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/**
 * A backend that answers each request with 150 bytes of JSON. In this process, on bare sockets, for the same
 * reason: on two processors, what is measured has the other one to itself.
 */
export async function startUpstream(): Promise<{ url: string; close: () => void }> {
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  }
}
